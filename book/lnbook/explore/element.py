"""An interactive figure as one piece of HTML: data, script, and a table for where scripts do not run."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from lnbook.figures.palette import css_variables

FOLDER = Path(__file__).parent  # of the scripts and styles, beside their builders

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 1rem auto; padding: 0 1rem; max-width: 60rem; }}
</style>
</head>
<body><main><h1>{title}</h1>
{figure}
</main></body>
</html>
"""


@dataclass(frozen=True)
class Element:
    """A figure that a notebook shows, a static page keeps, and a file can hold.

    The script and the style `my_name.js`, `my_name.css` beside this module travel with the figure; the script
    defines the function `myName(root, state)`. Each figure keeps to its own shadow root. `caption`, `head`
    and `rows` make the table that is shown where scripts do not run, and in print.
    """

    name: str
    state: dict[str, Any]  # what JSON holds
    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]

    @property
    def title(self) -> str:
        """The name in words."""
        return self.name.replace("_", " ").capitalize()

    @property
    def fallback(self) -> str:
        """The table as HTML."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.head)
        rows = (
            f"<tr><th>{escape(first)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in rest)}</tr>"
            for first, *rest in self.rows
        )
        top = f"<caption>{escape(self.caption)}</caption><thead><tr>{head}</tr></thead>"
        return f"<table>{top}<tbody>{''.join(rows)}</tbody></table>"

    def _repr_html_(self) -> str:
        state = escape(json.dumps(self.state, separators=(",", ":"), allow_nan=False))
        parts = ("figure", "plot", self.name)
        rules, script = ("".join(source(f"{part}.{kind}") for part in parts) for kind in ("css", "js"))
        style = json.dumps(f":host{{{css_variables()}}}{rules}", ensure_ascii=False)
        first, *rest = self.name.split("_")
        entry = first + "".join(map(str.capitalize, rest))
        return (
            f'<div class="lnlib-figure" data-name="{self.name}" data-state="{state}">{self.fallback}</div>\n'
            f"<script>(function(){{\n{script}mount({self.name!r},{style},{entry});\n}})();</script>"
        )

    def __repr__(self) -> str:
        return f"<interactive figure: {self.title}>"

    def to_html(self) -> str:
        """The figure as a complete page, to be written to a file and opened without a server."""
        return PAGE.format(title=self.title, figure=self._repr_html_())


def source(file: str) -> str:
    """A script or style of this package."""
    return (FOLDER / file).read_text(encoding="utf-8")


def two_decimals(value: float) -> str:
    """A number of a table: two decimals, or two digits from 1000 on, a true minus sign, never "-0"."""
    text = f"{round(value, 2) + 0.0:.2f}" if abs(value) < 1000 else f"{value:.2g}"
    return text.replace("-", "−")

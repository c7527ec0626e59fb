"""An interactive figure as one piece of HTML: data, script, and a table for where scripts do not run."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from lnbook.figures.palette import css_variables

__all__ = ["Element"]

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

    Jupyter shows it as the last value of a cell. Nothing is fetched and no kernel is asked: the script
    travels with the figure, and each figure keeps to its own shadow root, so several of them, or the
    same cell run twice, share a page.

    Args:
        name: of the script and style `name.js`, `name.css` beside this module; the script defines the
            function `entry(root, state)`.
        entry: the name of that function.
        title: heads the page that :meth:`to_html` writes.
        state: what the script draws; anything that JSON holds.
        fallback: HTML shown where scripts do not run, and in print.
        plots: whether the script needs `plot.js` and `plot.css` (curves, a frame with ticks) before it.
    """

    name: str
    entry: str
    title: str
    state: dict[str, Any]
    fallback: str
    plots: bool = False

    def _repr_html_(self) -> str:
        state = html.escape(json.dumps(self.state, separators=(",", ":"), allow_nan=False))
        parts = ["figure", *(["plot"] if self.plots else []), self.name]
        rules = "".join(source(f"{part}.css") for part in parts)
        script = "".join(source(f"{part}.js") for part in parts)
        style = json.dumps(f":host{{{css_variables()}}}{rules}", ensure_ascii=False)
        return (
            f'<div class="lnlib-figure" data-name="{self.name}" data-state="{state}">{self.fallback}</div>\n'
            f"<script>(function(){{\n{script}mount({self.name!r},{style},{self.entry});\n}})();</script>"
        )

    def __repr__(self) -> str:
        return f"<interactive figure: {self.title}>"

    def to_html(self) -> str:
        """The figure as a complete page, to be written to a file and opened without a server."""
        return PAGE.format(title=html.escape(self.title), figure=self._repr_html_())


def source(file: str) -> str:
    """A script or style of this package."""
    return resources.files("lnbook.explore").joinpath(file).read_text(encoding="utf-8")


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain HTML table whose first column heads the rows; caption and cells are text."""
    top = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join(
        f"<tr><th>{html.escape(first)}</th>"
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    said = f"<caption>{html.escape(caption)}</caption>"
    return f"<table>{said}<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def two_decimals(value: float) -> str:
    """A number of a table: two decimals, or two digits from 1000 on, a true minus sign, never "-0"."""
    text = f"{round(value, 2) + 0.0:.2f}" if abs(value) < 1000 else f"{value:.2g}"
    return text.replace("-", "−")

"""Interactive figures in tests: their data, their arithmetic run on its own, a page that holds several."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from browser import launch

from lnbook.explore import FIGURES, builder
from lnbook.explore.element import Element, source

ALL = (*FIGURES, "strokes", "writing")
THEMED = """<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>A themed page</title><style>
html[data-theme="light"] {{ --pst-color-text-base: #222832; --pst-color-background: #ffffff; }}
html[data-theme="dark"] {{ --pst-color-text-base: #ced6dd; --pst-color-background: #14181e; }}
html[data-theme="dark"] {{ color-scheme: dark; }}
body {{ color: var(--pst-color-text-base); background: var(--pst-color-background); }}
table {{ width: 100%; }} button, input {{ all: unset; }}
</style></head><body><main><h1>A themed page</h1>{figures}</main></body></html>"""


def made(name: str, seed: int = 0) -> Element:
    """The figure of that name; those that replay what a page has trained, with random pictures and lines."""
    draw = np.random.default_rng(seed)
    if name == "strokes":
        return builder(name)(draw.random((6, 3, 12, 12)), draw.uniform(2, 8, (6, 3, 3)))
    if name == "writing":
        texts = ("one wave", "two waves more")
        lines = {text: {b: list(draw.normal(size=(3, 60, 2))) for b in (0.0, 2.0)} for text in texts}
        return builder(name)(lines)
    return builder(name)(seed=seed)


def written(folder: Path, *figures: Element, theme: str = "") -> Path:
    """One figure as a page of its own, or figures on a page that has a theme."""
    path = folder / "page.html"
    page = figures[0].to_html()
    if theme:
        page = THEMED.format(theme=theme, figures="".join(figure._repr_html_() for figure in figures))
    path.write_text(page, encoding="utf-8")
    return path


def evaluate(figure: str, expression: str) -> Any:
    """An expression of a figure's script as inlined, in Node, else in Chromium."""
    script = source("figure.js") + source("plot.js") + source(f"{figure}.js")
    if node := shutil.which("node"):
        program = f"{script}\nprocess.stdout.write(JSON.stringify({expression}))"
        done = subprocess.run([node], input=program, capture_output=True, text=True, timeout=600, check=True)
        return json.loads(done.stdout)
    with launch() as chromium, chromium.open_page("about:blank") as (page, _, _):
        return json.loads(page.evaluate(f"(() => {{{script}\nreturn JSON.stringify({expression})}})()"))

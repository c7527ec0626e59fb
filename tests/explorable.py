"""Interactive figures in tests: their arithmetic run on its own, and a page that holds several."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

from browser import Chromium, launch

from lnbook.explore.element import source

NETWORK = ("http:", "https:", "import ", 'type="module"', "fetch(", " src=")

THEMED = """<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>A themed page</title><style>
html[data-theme="light"] {{ --pst-color-text-base: #222832; --pst-color-background: #ffffff; }}
html[data-theme="dark"] {{ --pst-color-text-base: #ced6dd; --pst-color-background: #14181e; }}
html[data-theme="dark"] {{ color-scheme: dark; }}
body {{ color: var(--pst-color-text-base); background: var(--pst-color-background); }}
table {{ width: 100%; }} button, input {{ all: unset; }}
</style></head><body><main><h1>A themed page</h1>{figures}</main></body></html>"""

# Cells whose text is wider than they are.
TOO_WIDE = """cells => cells.filter(cell => {
  const text = document.createRange(); text.selectNodeContents(cell);
  return text.getBoundingClientRect().width > cell.getBoundingClientRect().width + 1;
}).map(cell => cell.textContent)"""


def evaluate(figure: str, expression: str, browser: Chromium | None = None) -> Any:
    """An expression of a figure's script as inlined, in the browser given, else in Node or Chromium."""
    script = source("figure.js") + source("plot.js") + source(f"{figure}.js")
    if browser is None and (node := shutil.which("node")):
        program = f"{script}\nprocess.stdout.write(JSON.stringify({expression}))"
        done = subprocess.run([node], input=program, capture_output=True, text=True, timeout=600, check=True)
        return json.loads(done.stdout)
    if browser is None:
        with launch() as chromium:
            return evaluate(figure, expression, chromium)
    with browser.open_page("about:blank") as (page, _, _):
        return json.loads(page.evaluate(f"(() => {{{script}\nreturn JSON.stringify({expression})}})()"))


def said(page: Any) -> str:
    """What the figure's live text says."""
    return page.get_by_role("status").inner_text()


def settled(page: Any) -> str:
    """What it says once the reader pauses, where the figure waits for that."""
    page.locator("[role=status]:not([aria-busy])").wait_for()
    return said(page)

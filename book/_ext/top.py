"""The top of a page: how long it reads, what it builds on, when it ran, and how to run it again."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from html import escape
from typing import Any

import nbformat

from execute import BOOK, Executed

FOLDED = {"remove-cell", "remove-input", "hide-input", "hide-cell", "parameters"}


def minutes(notebook: nbformat.NotebookNode) -> int:
    """How long a page takes to read: 200 words, or 20 lines of shown code, a minute.

    >>> words = nbformat.v4.new_markdown_cell("one two three four five " * 80)
    >>> folded = nbformat.v4.new_code_cell("x = 1\\n" * 99, metadata={"tags": ["hide-cell"]})
    >>> minutes(nbformat.v4.new_notebook(cells=[words, folded, nbformat.v4.new_code_cell("x = 1\\n" * 20)]))
    3
    """
    code = [
        c for c in notebook.cells if c.cell_type == "code" and not FOLDED & set(c.metadata.get("tags", []))
    ]
    words = sum(len(c.source.split()) for c in notebook.cells if c.cell_type == "markdown")
    return max(1, round(words / 200 + sum(len(c.source.splitlines()) for c in code) / 20))


def title(page: str) -> str:
    """The title of a page of the book, from its source."""
    notebook, text = (BOOK / f"{page}{suffix}" for suffix in (".ipynb", ".md"))
    words = nbformat.read(notebook, 4).cells[0].source if notebook.is_file() else text.read_text("utf-8")
    return re.search(r"^# (.*)", words, flags=re.MULTILINE)[1].strip()


def top(page: str, notebook: nbformat.NotebookNode, run: Executed) -> str:
    """What stands between the title of a chapter and its first words."""
    return badge_line(page, notebook, run) + "\n\n" + run_line(page)


def badge_line(page: str, notebook: nbformat.NotebookNode, run: Executed) -> str:
    """Reading time, pages to read first, paper pages; when and where it ran, for how long, on which data."""
    facts = notebook.metadata.lnlib
    measured = measured_facts(page, run, facts.run.scale)
    day = datetime.fromisoformat(facts.run.executed).strftime("%-d %B %Y")
    first = ", ".join(f'<a href="{escape(p)}.html">{escape(title(p))}</a>' for p in facts.get("needs", []))
    reader = [
        f"{minutes(notebook)} minutes to read",
        f"read first: {first}" if first else "",
        f"Paper: {escape(facts.paper)}" if "paper" in facts else "",
    ]
    machine = [
        f"executed {day} at <code>{escape(facts.run.scale)}</code> scale in {facts.run.seconds:.0f} s",
        f"{facts.run.cores} cores, {escape(facts.run.device)}",
        f"data: {escape(data_used(measured))}",
        escape(f"lnlib {facts.run.lnlib}, torch {facts.run.torch}, Python {facts.run.python}"),
        f'<a href="notebooks/{page}.ipynb" download>executed notebook</a>',
        f'<a href="data/{page}.csv" download>measured rows</a>' if measured else "",
    ]
    lines = (" · ".join(filter(None, parts)) for parts in (reader, machine))
    return '<p class="badge-line">' + "<br>".join(lines) + "</p>"


def run_line(page: str) -> str:
    """The commands that run a page, folded; each block gets the theme's button for copying."""

    def block(command: str) -> str:
        return f'<div class="highlight"><pre>{escape(command)}</pre></div>'

    return (
        '<details class="run-page"><summary>Run this page</summary>'
        "<p>In a clone of the repository, after <code>pip install -e . -e './book[build,binder]'</code>:</p>"
        + block(f"python book/_ext/execute.py --scale book book/{page}.ipynb")
        + "<p>Or cell by cell:</p>"
        + block(f"jupyter lab book/{page}.ipynb")
        + "</details>"
    )


def measured_facts(page: str, run: Executed, scale: str) -> Mapping[str, Any]:
    """What the run wrote beside its measured rows; empty if it measured nothing."""
    file = run.results / scale / f"{page}.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def data_used(facts: Mapping[str, Any]) -> str:
    """Data sets with their source; a stand-in is named as such."""
    used = []
    for data in facts.get("data", []):
        name, source = data["name"], data["source"]
        asked = data.get("requested", name)
        used.append(f"{name} standing in for {asked}" if asked != name else f"{name} ({source})")
    return ", ".join(dict.fromkeys(used)) or "none"

"""The line under a chapter's title, what it builds on, and the line at its foot, when and where it ran."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from html import escape
from typing import Any

import nbformat

from execute import BOOK, Executed

STANDS_IN = "standing in for"


def title(page: str) -> str:
    """The title of a page of the book, from its source."""
    notebook, text = (BOOK / f"{page}{suffix}" for suffix in (".ipynb", ".md"))
    words = nbformat.read(notebook, 4).cells[0].source if notebook.is_file() else text.read_text("utf-8")
    return re.search(r"^# (.*)", words, flags=re.MULTILINE)[1].strip()


def badge_line(page: str, notebook: nbformat.NotebookNode, run: Executed) -> str:
    """What of the paper the page is about, which pages to read first, and whether its data are a stand-in."""
    facts = notebook.metadata.lnlib
    first = ", ".join(f'<a href="{escape(p)}.html">{escape(title(p))}</a>' for p in facts.get("needs", []))
    used = data_used(measured_facts(page, run, facts.run.scale)).split(", ")
    preview = ", ".join(name for name in used if STANDS_IN in name)
    parts = (
        f"Paper: {escape(facts.paper)}",
        f"read first: {first}" if first else "",
        f"preview data: {escape(preview)}" if preview else "",
    )
    return f'<p class="badge-line">{" · ".join(filter(None, parts))}</p>'


def run_line(page: str, notebook: nbformat.NotebookNode, run: Executed) -> str:
    """When and where the page ran, for how long, on which data; what it left to download."""
    facts = notebook.metadata.lnlib.run
    measured = measured_facts(page, run, facts.scale)
    day = datetime.fromisoformat(facts.executed).strftime("%-d %B %Y")
    parts = [
        f"executed {day} at <code>{escape(facts.scale)}</code> scale in {facts.seconds:.0f} s",
        f"{facts.cores} cores, {escape(facts.device)}",
        f"data: {escape(data_used(measured))}",
        escape(f"lnlib {facts.lnlib}, torch {facts.torch}, Python {facts.python}"),
        f'<a href="notebooks/{page}.ipynb" download>executed notebook</a>',
        f'<a href="data/{page}.csv" download>measured rows</a>' if measured else "",
    ]
    return f'<p class="badge-line">{" · ".join(filter(None, parts))}</p>'


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
        used.append(f"{name} {STANDS_IN} {asked}" if asked != name else f"{name} ({source})")
    return ", ".join(dict.fromkeys(used)) or "none"

"""What stands between the title of a chapter and its first words: what it builds on, and when it ran."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from html import escape
from typing import Any

import nbformat

from execute import BOOK, Executed


def title(page: str) -> str:
    """The title of a page of the book, from its source."""
    notebook, text = (BOOK / f"{page}{suffix}" for suffix in (".ipynb", ".md"))
    words = nbformat.read(notebook, 4).cells[0].source if notebook.is_file() else text.read_text("utf-8")
    return re.search(r"^# (.*)", words, flags=re.MULTILINE)[1].strip()


def badge_line(page: str, notebook: nbformat.NotebookNode, run: Executed) -> str:
    """Pages to read first, paper pages; when and where it ran, for how long, on which data."""
    facts = notebook.metadata.lnlib
    measured = measured_facts(page, run, facts.run.scale)
    day = datetime.fromisoformat(facts.run.executed).strftime("%-d %B %Y")
    first = ", ".join(f'<a href="{escape(p)}.html">{escape(title(p))}</a>' for p in facts.get("needs", []))
    reader = [
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
    return '<p class="badge-line">' + "<br>".join(filter(None, lines)) + "</p>"


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

"""The works of the timeline: the page's figure and its lists are both made from the table `works.csv`."""

import csv
from collections.abc import Iterable
from importlib.resources import files
from typing import NamedTuple

HERE = "beyond_timeline"


class Work(NamedTuple):
    """One work: what it is called, where its reference stands, and what it changed."""

    name: str
    year: int  # of the reference
    family: str
    key: str  # in references.bib
    changed: str  # MyST, one line
    page: str = ""  # of the book, where it is treated; `HERE` for the timeline's own
    abstract: bool = False  # whether we know no more than its abstract


def _read() -> tuple[Work, ...]:
    text = (files("lnbook") / "pages" / HERE / "works.csv").read_text(encoding="utf-8")
    return tuple(
        Work(**row | {"year": int(year), "abstract": known == "abstract"})
        for row in csv.DictReader(text.splitlines())
        for year, known in [(row.pop("year"), row.pop("known"))]
    )


#: The table's rows, families one after the other, each in the order of its years
WORKS = _read()


def families(works: Iterable[Work] = WORKS) -> dict[str, list[Work]]:
    """The works by family, in the order of the table."""
    found: dict[str, list[Work]] = {}
    for work in works:
        found.setdefault(work.family, []).append(work)
    return found


def listed(works: Iterable[Work] = WORKS) -> str:
    """A table for each family, in MyST: the name and the reference, what changed, where the book has it."""
    parts = []
    for family, members in families(works).items():
        lines = [f"| {family} | What it does | Here |", "| --- | --- | --- |"]
        for w in members:
            here = "below" if w.page == HERE else f"{{doc}}`{w.page}`" if w.page else ""
            mark = "†" * w.abstract
            lines.append(f"| **{w.name}**{mark} {{cite:p}}`{w.key}` | {w.changed} | {here} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)

"""The timeline's tables: works and what they changed, and language models and their norms.

`models.csv` has the dense models in the table of Hashimoto (2026), slide 29, as it has them, with the year
and the norm that it gives; none where it gives none.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

HERE = Path(__file__).parent
ERAS = ((2017, 2022), (2023, 2025))


def _read(name: str) -> tuple[Any, ...]:
    """The rows of a table, with its columns as fields."""
    return tuple(pd.read_csv(HERE / name, keep_default_na=False).itertuples(index=False))


#: name, year (of the reference), family, key (in references.bib), changed (MyST), page (of the book), and
#: "abstract" as known where we know no more; families one after the other, each in the order of its years
WORKS = _read("works.csv")
MODELS = _read("models.csv")


def families(works: Iterable[Any] = WORKS) -> dict[str, list[Any]]:
    """The works by family, in the order of the table."""
    found: dict[str, list[Any]] = {}
    for work in works:
        found.setdefault(work.family, []).append(work)
    return found


def listed() -> str:
    """A table for each family, in MyST: the name and the reference, what changed, where the book has it."""
    parts = []
    for family, members in families().items():
        lines = [f"| {family} | What it does | Here |", "| --- | --- | --- |"]
        for w in members:
            here = "below" if w.page == HERE.name else f"{{doc}}`{w.page}`" if w.page else ""
            mark = "†" if w.known == "abstract" else ""
            lines.append(f"| **{w.name}**{mark} {{cite:p}}`{w.key}` | {w.changed} | {here} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def by_era() -> list[dict[str, int | str]]:
    """How many models of each era have which norm."""
    rows: list[dict[str, int | str]] = []
    for first, last in ERAS:
        norms = [model.norm for model in MODELS if first <= model.year <= last]
        counts = {norm or "not given": norms.count(norm) for norm in ("layer", "RMS", "")}
        rows.append({"years": f"{first} to {last}", **counts})
    return rows

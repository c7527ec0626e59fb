"""The timeline's tables: works and what they changed, and language models and their norms.

`models.csv` has the dense models in the table of Hashimoto (2026), slide 29, as it has them, with the year
and the norm that it gives; none where it gives none.
"""

from pathlib import Path

import pandas as pd

HERE = Path(__file__).parent
#: name, year (of the reference), family, key (in references.bib), changed (MyST), page (of the book), and
#: "abstract" as known where we know no more; families one after the other, each in the order of its years
WORKS = pd.read_csv(HERE / "works.csv", keep_default_na=False)
MODELS = pd.read_csv(HERE / "models.csv", keep_default_na=False)


def listed() -> str:
    """A table for each family, in MyST: the name and the reference, what changed, where the book has it."""
    parts = []
    for family, members in WORKS.groupby("family", sort=False):
        lines = [f"| {family} | What it does | Here |", "| --- | --- | --- |"]
        for w in members.itertuples():
            here = "below" if w.page == HERE.name else f"{{doc}}`{w.page}`" if w.page else ""
            mark = "†" if w.known == "abstract" else ""
            lines.append(f"| **{w.name}**{mark} {{cite:p}}`{w.key}` | {w.changed} | {here} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)

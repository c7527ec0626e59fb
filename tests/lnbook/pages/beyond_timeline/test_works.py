"""The timeline's table: its references exist and say the same year."""

import re
from pathlib import Path

from lnbook.pages.beyond_timeline.works import WORKS, families

BOOK = Path(__file__).resolve().parents[4] / "book"


def bibliography() -> dict[str, int]:
    """The year of every reference."""
    entries = re.split(r"^@", (BOOK / "references.bib").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    years = [re.search(r"^\s*year\s*=\s*\{(\d{4})\}", entry, flags=re.MULTILINE) for entry in entries]
    keys = [entry[entry.index("{") + 1 : entry.index(",")] for entry in entries]
    return {key: int(year[1]) for key, year in zip(keys, years, strict=True) if year}


def test_every_work_has_the_year_of_its_reference_and_a_page_that_exists():
    years = bibliography()
    assert {w.key: w.year for w in WORKS} == {w.key: years.get(w.key) for w in WORKS}
    assert all((BOOK / f"{w.page}.ipynb").is_file() for w in WORKS if w.page)
    assert len({w.name for w in WORKS}) == len({w.key for w in WORKS}) == len(WORKS)


def test_a_family_stands_together_and_in_the_order_of_its_years():
    assert [work for members in families().values() for work in members] == list(WORKS)
    for members in families().values():
        assert members == sorted(members, key=lambda work: work.year)

"""The timeline's table: its references exist and say the same year."""

import re
from pathlib import Path

from lnbook.pages.beyond_timeline.works import WORKS

BOOK = Path(__file__).resolve().parents[4] / "book"


def bibliography() -> dict[str, int]:
    """The year of every reference."""
    entries = re.split(r"^@", (BOOK / "references.bib").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    years = [re.search(r"^\s*year\s*=\s*\{(\d{4})\}", entry, flags=re.MULTILINE) for entry in entries]
    keys = [entry[entry.index("{") + 1 : entry.index(",")] for entry in entries]
    return {key: int(year[1]) for key, year in zip(keys, years, strict=True) if year}


def test_every_work_has_the_year_of_its_reference_and_a_page_that_exists_and_families_run_in_order():
    years = bibliography()
    assert [years.get(key) for key in WORKS.key] == [*WORKS.year]
    assert all((BOOK / f"{page}.ipynb").is_file() for page in WORKS.page if page)
    assert WORKS.name.is_unique
    assert WORKS.key.is_unique
    assert WORKS.groupby("family").year.apply(lambda year: year.is_monotonic_increasing).all()

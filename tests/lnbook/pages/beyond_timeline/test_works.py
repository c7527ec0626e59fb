"""The timeline's table: its references exist and say the same year."""

import re
from pathlib import Path

import pytest

from lnbook.figures import plots
from lnbook.pages.beyond_timeline import drawings
from lnbook.pages.beyond_timeline.reported import ERAS, MODELS, REPORTS, Model, Report, by_era, reports
from lnbook.pages.beyond_timeline.works import WORKS, Work, families, listed

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


def test_every_report_has_a_reference_that_is_not_younger_than_its_date():
    years = bibliography()
    for report in REPORTS:
        assert years[report.key] == int(report.date.split()[-1]), report.key


def test_a_family_stands_together_and_in_the_order_of_its_years():
    assert [work for members in families().values() for work in members] == list(WORKS)
    for members in families().values():
        assert members == sorted(members, key=lambda work: work.year)


def test_the_lists_have_a_row_for_each_work_with_reference_page_and_mark():
    works = [
        Work("One", 2001, "a", "one2001", "first", "sec2_background"),
        Work("Two", 2002, "b", "two2002", "second", abstract=True),
        Work("Three", 2003, "b", "three2003", "third", "beyond_timeline"),
    ]
    assert listed(works) == (
        "| a | What it does | Here |\n| --- | --- | --- |\n"
        "| **One** {cite:p}`one2001` | first | {doc}`sec2_background` |\n\n"
        "| b | What it does | Here |\n| --- | --- | --- |\n"
        "| **Two**† {cite:p}`two2002` | second |  |\n"
        "| **Three** {cite:p}`three2003` | third | below |"
    )
    assert reports([Report("one2001", "May 2001", "something")]).splitlines()[2:] == [
        "| {cite:t}`one2001`†, May 2001 | something |"
    ]


@pytest.mark.parametrize("text", [*(w.changed for w in WORKS), *(r.found for r in REPORTS)])
def test_no_cell_of_a_table_holds_what_ends_it(text):
    assert "|" not in text
    assert "\n" not in text


def test_every_model_of_the_list_is_counted_once():
    assert {m.norm for m in MODELS} == {"layer", "RMS", ""}
    assert len({m.name for m in MODELS}) == len(MODELS)
    counted = by_era()
    assert [row["years"] for row in counted] == [f"{first} to {last}" for first, last in ERAS]
    assert sum(row[k] for row in counted for k in ("layer", "RMS", "not given")) == len(MODELS)
    toy = [Model("a", 2019, "RMS"), Model("b", 2020, "RMS"), Model("c", 2021, "layer")]
    assert by_era(toy, [(2019, 2020), (2021, 2021)]) == [
        {"years": "2019 to 2020", "layer": 0, "RMS": 2, "not given": 0},
        {"years": "2021 to 2021", "layer": 1, "RMS": 0, "not given": 0},
    ]


def test_the_timeline_has_a_dot_at_the_year_of_every_work_beside_its_name():
    fig = drawings.timeline()
    (ax,) = fig.axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    drawn = {names[int(dot.get_ydata()[0])]: dot.get_xdata()[0] for dot in dots}
    assert drawn == {w.name: w.year for w in WORKS}
    assert [n for n in names if n not in drawn] == list(families())
    assert set(drawings.COLORS) < set(families()), "a family's color is that of its norm"
    assert plots._svg(fig, "timeline")


def test_works_of_no_norms_family_are_drawn_in_ink_and_only_those_without_a_norm_in_its_gray():
    ax = drawings.timeline().axes[0]
    hues = [line.get_color() for line in ax.lines if line.get_marker() == "o"]
    names = {work.family: hue for work, hue in zip(WORKS, hues, strict=True)}
    assert names["In vision"] == names["The place in a Transformer"] == plots.INK
    assert [f for f, hue in names.items() if hue == plots.COLORS["none"]] == ["No normalization"]

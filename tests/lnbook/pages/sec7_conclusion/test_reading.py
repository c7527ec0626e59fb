"""Reading the ledger: sections, experiments, margins."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.ledger.intervals import interval
from lnbook.ledger.results import Claim, Evidence, judge, load_claims
from lnbook.pages.sec7_conclusion.reading import (
    EXPERIMENTS,
    SECTIONS,
    margin,
    run_here,
    section_of,
    with_confidence,
)


def claim(expect: str = "> 0", **changes: object) -> Claim:
    facts = {"id": "a", "section": "3", "source": "Eq. (3)", "says": "...", "page": "page", "quantity": "q"}
    return Claim(**(facts | {"expect": expect, "verdict": "holds"} | changes))  # type: ignore[arg-type]


def measured(value: float, low: float, high: float, expect: str = "> 0", n: int = 5) -> Evidence:
    return Evidence("a", value, low, high, n, judge(claim(expect), value, low, high))


@pytest.mark.parametrize(
    ("section", "found"),
    [
        ("3", "3"),
        ("3.1", "3.1"),
        ("5.2.2", "5.2"),
        ("6.6", "6.6"),
        ("supplement", "supplement"),
        ("beyond", None),
    ],
)
def test_a_claim_belongs_to_the_innermost_section_that_holds_it(section: str, found: str | None) -> None:
    assert section_of(claim(section=section)) == found


def test_a_claim_of_ours_belongs_to_no_section_of_the_paper() -> None:
    assert section_of(claim(section="6.6", source="Beyond the paper (ours): no norm")) is None


def test_every_claim_of_the_ledger_is_the_papers_or_ours() -> None:
    for each in load_claims():
        is_ours = each.section == "beyond" or "ours" in re.findall(r"\w+", each.source)
        assert (section_of(each) is None) == is_ours, (
            f"{each.id}: section {each.section!r} is none of SECTIONS"
        )


def test_the_paper_has_seven_experiments_and_one_is_run_only_on_a_page_of_its_own() -> None:
    assert len(EXPERIMENTS) == 7
    assert set(EXPERIMENTS) < set(SECTIONS)
    own, other = claim(id="a", section="6.6", page="sec6_6_mnist"), claim(id="b", section="6.2", page="sec4")
    silent = claim(id="c", section="6.7", page="sec6_7_convnets")
    evidence = {key: measured(1, 1, 1) for key in "ab"}
    found = run_here([own, other, silent], evidence)
    assert {section: [c.id for c in claims] for section, claims in found.items() if claims} == {"6.6": ["a"]}


@given(
    value=st.floats(-5, 5),
    below=st.floats(0.1, 5),
    above=st.floats(0.1, 5),
    operator=st.sampled_from(["<", "<=", ">", ">="]),
)
def test_a_margin_above_one_decides_and_one_below_does_not(value, below, above, operator) -> None:
    ends, expect = (value - below, value + above), f"{operator} 0"
    found = margin(claim(expect), measured(value, *ends, expect))
    assert found is not None
    if found > 1:
        assert judge(claim(expect), value, *ends) == judge(claim(expect), value)
    if found < 1:
        assert ends[0] < 0 < ends[1]
        assert judge(claim(expect), value, *ends) == "not reproduced"


def test_without_an_interval_there_is_no_margin() -> None:
    assert margin(claim(), measured(3, 3, 3, n=1)) is None


def test_another_confidence_gives_students_interval_of_that_confidence() -> None:
    seeds = [1.0, 2.5, 3.0, 4.5]
    mean, low, high = interval(seeds)
    found = with_confidence(claim(), measured(mean, low, high, n=4), 0.5)
    spread = math.sqrt(sum((s - mean) ** 2 for s in seeds) / 3 / 4)
    # 0.764892: the third quartile of Student's t with 3 degrees of freedom, from a table
    assert found.high == pytest.approx(mean + 0.764892 * spread, rel=1e-6)
    assert found.low == pytest.approx(mean - 0.764892 * spread, rel=1e-6)
    assert with_confidence(claim(), measured(mean, low, high, n=4), 0.95).low == pytest.approx(low)


def test_a_verdict_that_needs_little_confidence_falls_when_more_is_asked() -> None:
    close = measured(1.0, 0.1, 1.9)
    assert close.verdict == "holds"
    assert with_confidence(claim(), close, 0.99).verdict == "not reproduced"
    single = measured(1.0, 1.0, 1.0, n=1)
    assert with_confidence(claim(), single, 0.99) is single
    with pytest.raises(ValueError, match=r"1\.5.*between 0 and 1"):
        with_confidence(claim(), close, 1.5)

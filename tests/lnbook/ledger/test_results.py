"""The ledger: which claims it accepts, how it judges them, and how it shows them."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.ledger.results import Claim, Evidence, Ledger, Table, judge, load_claims, load_evidence, table

FIELDS = {
    "id": '"a"',
    "section": '"3"',
    "source": '"Eq. (3)"',
    "says": '"small"',
    "page": '"page"',
    "quantity": '"error"',
    "expect": '"<= 1e-12"',
    "verdict": '"holds"',
}
numbers = st.floats(allow_nan=False)


def claim(expect: str = "<= 1", **fields: object) -> Claim:
    known = {"id": "a", "page": "page", "verdict": "holds"} | fields
    return Claim(section="3", source="Eq. (3)", says="small", quantity="error", expect=expect, **known)


def ledger(*claims: Claim) -> Ledger:
    return Ledger("page", scale="smoke", claims=claims)


def write(path: Path, *entries: dict[str, str]) -> Path:
    lines = ["[[claim]]\n" + "".join(f"{key} = {value}\n" for key, value in e.items()) for e in entries]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder where this process writes its rows."""
    monkeypatch.setenv("LNLIB_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


# ------------------------------------------------------------------------------------- what is a claim


def test_a_claim_is_read_as_written(tmp_path: Path) -> None:
    optional = {"exact": "true", "paper": "7", "unit": '"%"', "condition": '"for H > 2"'}
    (read,) = load_claims(write(tmp_path / "claims.toml", FIELDS | optional))
    assert read == claim("<= 1e-12", exact=True, paper=7, unit="%", condition="for H > 2")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verdct": '"holds"'}, ["claim 'a'", "unknown fields ['verdct']"]),
        ({"verdict": '"true"'}, ["claim 'a'", "verdict 'true'", "not reproduced"]),
        ({"otherwise": '"false"'}, ["claim 'a'", "verdict 'false'"]),
        ({"expect": '"about 1"'}, ["claim 'a'", "expects 'about 1'", "<= 1e-12"]),
        ({"expect": '"<= 1.2.3"'}, ["claim 'a'", "expects '<= 1.2.3'"]),
        ({"expect": '"<= ."'}, ["claim 'a'", "expects '<= .'"]),
        ({"expect": '"<= nan"'}, ["claim 'a'", "expects '<= nan'"]),
        ({"expect": '"!= 1"'}, ["claim 'a'", "expects '!= 1'"]),
        ({"expect": "1"}, ["claim 'a'", "wrong type", "'expect'"]),
        ({"exact": '"true"'}, ["claim 'a'", "wrong type", "'exact'"]),
        ({"paper": '"7"'}, ["claim 'a'", "wrong type", "'paper'"]),
        ({"section": "3"}, ["claim 'a'", "wrong type", "'section'"]),
    ],
)
def test_a_malformed_claim_is_refused_by_name_and_field(tmp_path: Path, change, words: list[str]) -> None:
    path = write(tmp_path / "claims.toml", FIELDS | change)
    with pytest.raises(ValueError, match="(?s)" + ".*".join(re.escape(word) for word in words)):
        load_claims(path)


@pytest.mark.parametrize("field", FIELDS)
def test_a_claim_without_a_required_field_is_refused(tmp_path: Path, field: str) -> None:
    path = write(tmp_path / "claims.toml", {k: v for k, v in FIELDS.items() if k != field})
    with pytest.raises(ValueError, match=rf"lacks \['{field}'\]"):
        load_claims(path)


def test_a_claim_that_appears_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'a' in claims\.toml appears twice"):
        load_claims(write(tmp_path / "claims.toml", FIELDS, FIELDS))


def test_a_single_table_instead_of_a_list_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text('[claim]\nid = "a"\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"write \[\[claim\]\]"):
        load_claims(path)


# ------------------------------------------------------------------------------------------ judgement


@pytest.mark.parametrize(
    ("expect", "meets", "fails"),
    [
        ("<= 1e-3", [1e-3, -math.inf], [1.001e-3, math.inf]),
        (">= -2.5", [-2.5, math.inf], [-2.6]),
        ("< 1", [0.999], [1.0]),
        ("> .5", [0.51], [0.5]),
        ("== +3", [3.0], [3.0001]),
        ("<1E-3", [0.0], [1.0]),
    ],
)
def test_a_criterion_is_met_as_arithmetic_says(expect: str, meets: list[float], fails: list[float]) -> None:
    assert all(judge(claim(expect), value) == "holds" for value in meets)
    assert all(judge(claim(expect), value) == "not reproduced" for value in fails)


@given(value=numbers, low=numbers, high=numbers, bound=st.integers(-5, 5))
def test_an_interval_must_meet_the_criterion_wholly(value, low, high, bound) -> None:
    for operator, worst in (("<=", max), (">=", min)):
        alone = judge(claim(f"{operator} {bound}"), worst(value, low, high))
        assert judge(claim(f"{operator} {bound}"), value, low, high) == alone


@pytest.mark.parametrize("expect", ["<= 1", ">= 1", "< 1", "> 1", "== 1"])
@pytest.mark.parametrize("points", [(math.nan, 0, 2), (1, math.nan, 1), (1, 1, math.nan)])
@pytest.mark.parametrize("otherwise", ["not reproduced", "misprint", "holds"])
def test_nan_decides_nothing_in_favour_of_anything(expect: str, points, otherwise: str) -> None:
    assert judge(claim(expect, otherwise=otherwise), *points) == "not reproduced"


def test_the_other_verdict_is_the_claims_own() -> None:
    mistaken = claim("> 1", verdict="misprint", otherwise="holds")
    assert (judge(mistaken, 2.0), judge(mistaken, 0.5)) == ("misprint", "holds")


# ----------------------------------------------------------------------------------------- the ledger


def test_what_is_measured_comes_back_from_the_stored_rows_judged_anew(results: Path) -> None:
    page = ledger(claim("<= 1"), claim("> 0", id="b"))
    page.measure("a", 0.1 + 0.2)
    page.measure("b", 2.0, low=1.0, high=3.0, n=5)
    page.show()
    assert load_evidence(page.claims.values(), scale="smoke") == page.evidence
    stricter = load_evidence([claim("<= 0.3"), claim("> 1", id="b"), claim(id="c")], scale="smoke")
    assert {key: e.verdict for key, e in stricter.items()} == dict.fromkeys("ab", "not reproduced")
    assert sorted(file.name for file in (results / "smoke").iterdir()) == ["page.csv", "page.json"]


def test_nan_survives_the_file_and_is_still_not_reproduced() -> None:
    page = ledger(claim("<= 1", otherwise="holds"))
    page.measure("a", math.nan)
    page.show()
    evidence = load_evidence(page.claims.values(), scale="smoke")["a"]
    assert math.isnan(evidence.value)
    assert evidence.verdict == "not reproduced"
    assert repr(evidence) == "a: nan -> not reproduced"


def test_every_claim_of_the_page_must_be_measured_and_no_other() -> None:
    page = ledger(claim(), claim(id="b"), claim(id="elsewhere", page="other"))
    page.measure("a", 0.0)
    with pytest.raises(ValueError, match=r"did not measure its claims \['b'\]"):
        page.show()
    with pytest.raises(ValueError, match=r"'elsewhere' is not a claim of page 'page'.*\['a', 'b'\]"):
        page.measure("elsewhere", 0.0)


def test_an_exact_claim_that_fails_stops_the_page_and_an_experiment_does_not(results: Path) -> None:
    page = ledger(claim("<= 1", exact=True), claim("<= 1", id="b"))
    page.measure("a", 2.0)
    page.measure("b", 2.0)
    with pytest.raises(ValueError, match=r"hold at every scale, these do not: \[a: 2 -> not reproduced\]"):
        page.show()
    assert not results.exists()
    page.measure("a", 0.5)
    page.show()


def test_an_interval_says_over_how_many_measurements() -> None:
    page = ledger(claim())
    with pytest.raises(ValueError, match=r"over n = 1 measurements; give n, at least 2"):
        page.measure("a", 0.5, low=0.1, high=0.9)
    assert repr(page.measure("a", 0.5, low=0.1, high=0.9, n=4)) == "a: 0.5 [0.1, 0.9], n = 4 -> holds"


@pytest.mark.usefixtures("as_users_call")
def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(ValueError, match="scale is 'tiny'"):
        Ledger("page", scale="tiny", claims=[])


# -------------------------------------------------------------------------------------------- tables


def test_a_table_says_what_was_measured_and_on_what_condition_it_holds() -> None:
    held = claim("<= 1", id="a", condition="for H > 2", unit="%")
    failed = claim("<= 1", id="b", condition="for H > 2")
    evidence = {
        "a": Evidence("a", 0.5, 0.4, 0.6, 3, "holds"),
        "b": Evidence("b", 2, 2, 2, 1, "not reproduced"),
    }
    rows = table([held, failed, claim(id="c")], evidence).rows
    assert [row[2:] for row in rows] == [
        ["error: 0.5 % [0.4, 0.6], n = 3 (needs ≤ 1)", "holds: for H > 2"],
        ["error: 2 (needs ≤ 1)", "not reproduced"],
        ["-", "not attempted"],
    ]


def test_cells_break_neither_markdown_nor_html() -> None:
    shown = Table(["a"], [["|x| < 1 & <b>"]])
    assert shown.to_markdown().splitlines()[2] == r"| \|x\| < 1 & <b> |"
    assert '<td data-column="a">|x| &lt; 1 &amp; &lt;b&gt;</td>' in shown._repr_html_()

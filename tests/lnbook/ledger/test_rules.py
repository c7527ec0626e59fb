"""Rules and sentences: which entries are accepted, whose statement a rule tests, its digest."""

import re
from pathlib import Path

import pytest
from ledger_rules import FIELDS, SENTENCE, rule, write

from lnbook.ledger.rules import Sentence, digest, load_rules, load_sentences, origin

ESTIMATE = {
    "kind": '"effect"',
    "size": '"stand-in"',
    "scale": '"ratio"',
    "effect": "2",
    "effect_from": '"ours"',
    "expect": '"> 1"',
}


def test_an_entry_is_read_as_written(tmp_path: Path) -> None:
    optional = {"paper": "7", "unit": '"%"', "condition": '"for H > 2"', "sentence": '"p"'}
    path = write(tmp_path / "claims.toml", FIELDS | optional, sentences=[SENTENCE])
    (read,) = load_rules(path)
    assert read == rule("<= 1e-12", kind="identity", sentence="p", paper=7, unit="%", condition="for H > 2")
    assert load_sentences(path) == [Sentence("p", "3", "Section 3", "it is small")]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verdict": '"holds"'}, ["rule 'a'", "unexpected keyword argument 'verdict'"]),
        ({"page": None}, ["rule 'a'", "missing", "required", "argument: 'page'"]),
        ({"kind": '"true"'}, ["rule 'a'", "kind is 'true'", "identity"]),
        ({"expect": '"about 1"'}, ["rule 'a'", "expects 'about 1'", "<= 1e-12"]),
        ({"expect": '"<= 1.2.3"'}, ["rule 'a'", "expects '<= 1.2.3'"]),
        ({"expect": '"!= 1"'}, ["rule 'a'", "expects '!= 1'"]),
        ({"expect": "1"}, ["rule 'a'", "wrong type", "'expect'"]),
        ({"paper": '"7"'}, ["rule 'a'", "wrong type", "'paper'"]),
        ({"size": '"paper"'}, ["rule 'a'", "the kind 'identity' holds at any size"]),
        ({"sentence": '"nowhere"'}, ["rule 'a'", "'nowhere'", "no [[sentence]]"]),
        (ESTIMATE | {"scale": '""'}, ["rule 'a'", "needs 'ratio' or 'difference'"]),
        (ESTIMATE | {"expect": '"> 0"'}, ["rule 'a'", "above 0, not with 0"]),
        (ESTIMATE | {"expect": '"== 1"'}, ["rule 'a'", "'same' and a margin"]),
        (ESTIMATE | {"effect_from": '""'}, ["rule 'a'", "has no effect"]),
        (ESTIMATE | {"effect": "0.5"}, ["rule 'a'", "effect 0.5 is not on the claimed side of '> 1'"]),
        (ESTIMATE | {"kind": '"same"'}, ["rule 'a'", "expects '> 1'", "== "]),
        (ESTIMATE | {"kind": '"same"', "expect": '"== 1"', "margin": "0.9"}, ["rule 'a'", "margin is 0.9"]),
    ],
)
def test_a_malformed_rule_is_refused_by_name_and_fix(tmp_path: Path, change, words: list[str]) -> None:
    entry = {key: value for key, value in (FIELDS | change).items() if value is not None}
    path = write(tmp_path / "claims.toml", entry)
    with pytest.raises(ValueError, match="(?s)" + ".*".join(re.escape(word) for word in words)):
        load_rules(path)


def test_a_rule_or_a_sentence_that_appears_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"rule 'a' in claims\.toml appears twice"):
        load_rules(write(tmp_path / "claims.toml", FIELDS, FIELDS))
    with pytest.raises(ValueError, match=r"sentence 'p' in claims\.toml appears twice"):
        load_sentences(write(tmp_path / "claims.toml", sentences=[SENTENCE, SENTENCE]))


@pytest.mark.parametrize(
    ("fields", "whose"),
    [
        ({"sentence": "p"}, "the paper"),
        ({"source": "Beyond the paper (ours): rounding"}, "this book"),
        ({"source": "Beyond the paper: an explainer"}, "explainers"),
        ({"source": "Beyond the paper: Xiong and others (2020), Theorem 1"}, "later literature"),
    ],
)
def test_a_rule_says_whose_statement_it_tests(fields: dict[str, str], whose: str) -> None:
    assert origin(rule(**fields)) == whose


def test_a_digest_changes_exactly_with_what_enters_a_verdict() -> None:
    same = digest(rule())
    for wording in ({"says": "other words"}, {"source": "elsewhere"}, {"page": "moved"}, {"unit": "s"}):
        assert digest(rule(**wording)) == same
    for change in (
        {"quantity": "other"},
        {"expect": "> 1e-9"},
        {"effect": 2},
        {"size": "paper"},
        {"scale": "ratio", "expect": "> 0.5"},
    ):
        assert digest(rule(**change)) != same

"""Rules and sentences: which are refused, whose statement a rule tests, its digest."""

import re

import pytest
from ledger_rules import FIELDS, rule, write

from lnbook.ledger.rules import digest, load_rules, origin

ESTIMATE = {
    "kind": '"effect"',
    "size": '"stand-in"',
    "scale": '"ratio"',
    "effect": "2",
    "effect_from": '"ours"',
    "expect": '"> 1"',
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kind": '"true"'}, "kind is 'true'; use one of"),
        ({"size": '"large"'}, "size is 'large'"),
        ({"expect": '"about 1"'}, "'a' expects 'about 1'; compare with a number"),
        ({"sentence": '"nowhere"'}, "['a'] in claims.toml test what is no [[sentence]]"),
        (ESTIMATE | {"scale": '""'}, "use one of ('ratio', 'difference')"),
        (ESTIMATE | {"expect": '"== 1"'}, "effect 2 is not on the claimed side of '== 1'"),
        (ESTIMATE | {"effect_from": '""'}, "has no effect"),
        (ESTIMATE | {"effect": "0.5"}, "effect 0.5 is not on the claimed side of '> 1'"),
        (ESTIMATE | {"kind": '"same"'}, "expects '== ' and a number, and a margin"),
        (ESTIMATE | {"kind": '"same"', "expect": '"== 1"', "margin": "0.9"}, "and a margin"),
    ],
)
def test_a_rule_that_cannot_judge_is_refused_with_the_fix(tmp_path, change, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        load_rules(write(tmp_path / "claims.toml", FIELDS | change))


def test_a_rule_or_a_sentence_that_appears_twice_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"rule \['a'\] in claims\.toml appears twice"):
        load_rules(write(tmp_path / "claims.toml", FIELDS, FIELDS))


def test_a_rule_says_whose_statement_it_tests():
    said = {"this book": "(ours): rounding", "explainers": "an explainer", "later literature": "Xiong"}
    for whose, source in said.items():
        assert origin(rule(source=f"Beyond the paper: {source}")) == whose
    assert origin(rule(sentence="p")) == "the paper"


def test_a_digest_changes_exactly_with_what_enters_a_verdict():
    same = digest(rule())
    for wording in ({"says": "other words"}, {"source": "elsewhere"}, {"page": "moved"}, {"unit": "s"}):
        assert digest(rule(**wording)) == same
    for name, value in {"quantity": "other", "effect": 2, "size": "paper", "scale": "ratio"}.items():
        assert digest(rule(**{name: value})) != same

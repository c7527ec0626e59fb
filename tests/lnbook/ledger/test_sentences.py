"""The verdict on a sentence: which evidence decides, several estimates together, chance."""

import numpy as np
import pytest
from ledger_rules import measurement, rule

from lnbook.ledger.rules import Sentence
from lnbook.ledger.sentences import NOT_TESTED, judge_sentence, with_holm
from lnbook.ledger.verdicts import judge, measured

SENTENCE = Sentence("p", "6.6", "Section 6.6", "it is faster")
FOR, AGAINST, OPEN = (1.0, 0.5, 1.5), (-1.0, -1.5, -0.5), (0.1, -2.0, 2.2)


def verdict(*evidence: tuple[dict, tuple[float, float, float]], reason: str = ""):
    """Of a sentence with these rules and measurements."""
    rules = [rule(id=str(k), sentence="p", **fields) for k, (fields, _) in enumerate(evidence)]
    found = {str(k): measurement(*numbers, name=str(k)) for k, (_, numbers) in enumerate(evidence)}
    return judge_sentence(Sentence("p", "6.6", "Section 6.6", "it is faster", reason), rules, found).verdict


PAPER = {"size": "paper"}
EXACT = {
    "kind": "identity",
    "size": "exact",
    "expect": "<= 9",
    "scale": "",
    "effect": None,
    "effect_from": "",
}


def test_only_evidence_of_the_papers_size_or_mathematics_decides() -> None:
    assert str(verdict((PAPER, FOR))) == "supported"
    assert str(verdict((PAPER, FOR), ({}, AGAINST))) == "supported"
    assert str(verdict((EXACT, (0, 0, 0)), ({}, AGAINST))) == "verified"
    below = verdict(({}, FOR))
    assert (below.word, below.note) == (NOT_TESTED, "supported in a stand-in")


def test_of_several_verdicts_the_one_that_says_most_against_the_sentence_counts() -> None:
    assert verdict((PAPER, FOR), (PAPER, OPEN)).word == "undecided"
    assert verdict((PAPER, FOR), (PAPER, OPEN), (PAPER, AGAINST)).word == "contradicted"
    error = EXACT | {"kind": "error"}
    assert verdict((EXACT, (0, 0, 0)), (error, (1, 1, 1))).word == "error in print"
    conditional = EXACT | {"condition": "delta > 0"}
    assert str(verdict((EXACT, (0, 0, 0)), (conditional, (0, 0, 0)))) == "verified if delta > 0"


def test_a_sentence_without_evidence_says_why() -> None:
    assert str(verdict(reason="needs BookCorpus")) == "not measured (needs BookCorpus)"
    assert str(verdict()) == "not measured (no rule tests it yet)"
    unrun = judge_sentence(SENTENCE, [rule(sentence="p")], {})
    assert unrun.verdict.word == "not measured"


def test_estimates_for_one_sentence_share_five_percent() -> None:
    """p = .03 is decided alone, and not with a second test that says nothing; p = .001 is in any case."""
    rules = [rule(id=name, sentence="p", size="paper") for name in "ab"]
    half = 2.3646 * 0.5  # Student's t over 7 degrees of freedom, times a standard error of .5
    nothing = measurement(0.1, 0.1 - half, 0.1 + half, name="b")
    for center, word in ((2.7 * 0.5, "undecided"), (6 * 0.5, "supported")):
        some = measurement(center, center - half, center + half)
        assert judge(rules[0], some).word == "supported"
        verdict = with_holm(rules, {"a": some, "b": nothing})[0]
        assert verdict.word == word
        assert ("supported alone" in verdict.note) == (word == "undecided")


@pytest.mark.parametrize("tests", [1, 2, 5])
def test_chance_alone_decides_at_most_one_sentence_in_twenty(tests: int) -> None:
    rules = [rule(id=str(k), sentence="p", size="paper") for k in range(tests)]
    generator, decided, trials = np.random.default_rng(tests), 0, 1500
    for _ in range(trials):
        found = {r.id: measured(r, generator.normal(size=8).tolist()) for r in rules}
        decided += any(v.word in ("supported", "contradicted") for v in with_holm(rules, found))
    assert decided / trials < 0.05 + 3 * (0.05 * 0.95 / trials) ** 0.5, "three standard errors above 5 %"

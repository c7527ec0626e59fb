"""The verdict on a sentence: which evidence decides, several estimates together, chance."""

import pytest
from ledger_rules import measurement, rule

from lnbook.ledger.rules import Sentence
from lnbook.ledger.sentences import judge_sentence, with_holm
from lnbook.ledger.verdicts import NOT_TESTED, judge

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


def test_only_evidence_of_the_papers_size_or_mathematics_decides():
    assert str(verdict((PAPER, FOR))) == "supported"
    assert str(verdict((PAPER, FOR), ({}, AGAINST))) == "supported"
    assert str(verdict((EXACT, (0, 0, 0)), ({}, AGAINST))) == "verified"
    below = verdict(({}, FOR))
    assert (below.word, below.note) == (NOT_TESTED, "supported in a stand-in")


def test_of_several_verdicts_the_one_that_says_most_against_the_sentence_counts():
    assert verdict((PAPER, FOR), (PAPER, OPEN)).word == "undecided"
    assert verdict((PAPER, FOR), (PAPER, OPEN), (PAPER, AGAINST)).word == "contradicted"
    error = EXACT | {"kind": "error"}
    assert verdict((EXACT, (0, 0, 0)), (error, (1, 1, 1))).word == "error in print"
    conditional = EXACT | {"condition": "delta > 0"}
    assert str(verdict((EXACT, (0, 0, 0)), (conditional, (0, 0, 0)))) == "verified if delta > 0"


SAME = PAPER | {"kind": "same", "expect": "== 0", "margin": 0.5, "effect": None, "effect_from": ""}
EVIDENCE = {  # the verdict on a rule of each kind, by what was measured for it
    "identity": (EXACT, {"verified": (0, 0, 0), "contradicted": (10, 10, 10)}),
    "identity, conditional": (EXACT | {"condition": "delta > 0"}, {"verified if": (0, 0, 0)}),
    "error": (EXACT | {"kind": "error"}, {"error in print": (0, 0, 0), "contradicted": (10, 10, 10)}),
    "code": (EXACT | {"kind": "code"}, {"implemented as described": (0, 0, 0)}),
    "computed": (EXACT | {"kind": "computed"}, {"verified": (0, 0, 0), "contradicted": (10, 10, 10)}),
    "effect": (PAPER, {"supported": FOR, "contradicted": AGAINST, "undecided": OPEN}),
    "effect, ours": (PAPER, {"below what counts here": (0.1, -0.2, 0.4)}),
    "effect, of the paper": (PAPER | {"effect_from": "paper"}, {"smaller than claimed": (0.1, -0.2, 0.4)}),
    "same": (SAME, {"supported": (0.0, -0.2, 0.2), "contradicted": (2, 1.5, 2.5)}),
    "same, open": (SAME, {"undecided": (0.4, -0.4, 1.2)}),
}


@pytest.mark.parametrize("kind", EVIDENCE)
def test_the_verdict_on_a_sentences_only_rule_is_the_sentences(kind):
    fields, known = EVIDENCE[kind]
    assert {word: verdict((fields, numbers)).word for word, numbers in known.items()} == {w: w for w in known}


def test_a_counterexample_adds_its_condition_and_verifies_nothing():
    limit = EXACT | {"kind": "limit", "condition": "no bias inside"}
    assert str(verdict((EXACT, (0, 0, 0)), (limit, (0, 0, 0)))) == "verified if no bias inside"
    below = verdict((limit, (0, 0, 0)), ({}, AGAINST))
    assert (below.word, below.note) == (NOT_TESTED, "contradicted in a stand-in")
    assert verdict((limit, (0, 0, 0))).word == "not measured"


def test_each_network_at_its_own_step_size_decides_over_one_for_both():
    one, own = PAPER | {"steps": "one"}, PAPER | {"steps": "own"}
    assert verdict((one, AGAINST), (own, FOR)).word == "supported"
    assert verdict((one, AGAINST)).word == "contradicted"
    assert verdict((one, AGAINST), ({"steps": "own"}, FOR)).word == "contradicted"  # that is a stand-in


def test_criteria_that_disagree_are_undecided_together():
    fair = PAPER | {"steps": "own", "group": "g"}
    assert verdict((fair, FOR), (fair, FOR)).word == "supported"
    split = verdict((fair, FOR), (fair, AGAINST))
    assert (split.word, "supported, contradicted" in split.note) == ("undecided", True)


def test_a_sentence_without_evidence_says_why_or_where_it_is_read():
    assert str(verdict(reason="needs BookCorpus")) == "not measured (needs BookCorpus)"
    quoted = Sentence("p", "6.6", "Section 6.6", "it has 3 layers", read='README: "3 layers"')
    assert str(judge_sentence(quoted, [], {}).verdict) == 'read (README: "3 layers")'
    assert str(judge_sentence(SENTENCE, [rule(sentence="p")], {}).verdict) == "not measured (not run)"


def test_estimates_for_one_sentence_share_five_percent():
    """p = .03 is decided alone, and not with a second test that says nothing; p = .001 is in any case."""
    rules = [rule(id=name, sentence="p", size="paper") for name in "ab"]
    half = 2.3646 * 0.5  # Student's t over 7 degrees of freedom, times a standard error of .5
    nothing = measurement(0.1, 0.1 - half, 0.1 + half, name="b")
    for side, alone in ((1, "supported"), (-1, "contradicted")):
        for center, word in ((2.7 * 0.5, "undecided"), (6 * 0.5, alone)):
            some = measurement(side * center, side * center - half, side * center + half)
            assert judge(rules[0], some).word == alone
            verdict = with_holm(rules, {"a": some, "b": nothing})[0]
            assert verdict.word == word
            assert (f"{alone} alone" in verdict.note) == (word == "undecided")

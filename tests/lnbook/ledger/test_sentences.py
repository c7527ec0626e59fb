"""The verdict on a sentence: which evidence decides, several estimates together, chance."""

import pytest
from ledger_rules import measurement, rule

from lnbook.ledger import sentences
from lnbook.ledger.rules import Sentence
from lnbook.ledger.sentences import judge_sentence, with_holm
from lnbook.ledger.verdicts import NOT_TESTED, SENTENCE_WORDS, judge

SENTENCE = Sentence("p", "6.6", "Section 6.6", "it is faster")
FOR, AGAINST, OPEN = (1.0, 0.5, 1.5), (-1.0, -1.5, -0.5), (0.1, -2.0, 2.2)


def verdict(*evidence: tuple[dict, tuple[float, float, float]], reason: str = ""):
    """Of a sentence with these rules and measurements."""
    rules = [rule(id=str(k), sentence="p", **fields) for k, (fields, _) in enumerate(evidence)]
    found = {str(k): measurement(*numbers, name=str(k)) for k, (_, numbers) in enumerate(evidence)}
    return judge_sentence(Sentence("p", "6.6", "Section 6.6", "it is faster", reason), rules, found).verdict


PAPER = {"size": "paper"}
EXACT = {"kind": "identity", "expect": "<= 9"}
RIGHT = (EXACT, (0, 0, 0))
LIMIT = (EXACT | {"kind": "limit", "condition": "no bias inside"}, (0, 0, 0))
ONE, OWN = PAPER | {"steps": "one"}, PAPER | {"steps": "own"}
FAIR = OWN | {"group": "g"}


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        # only evidence of the paper's size, or mathematics, decides
        ([(PAPER, FOR)], "supported"),
        ([(PAPER, FOR), ({}, AGAINST)], "supported"),
        ([RIGHT, ({}, AGAINST)], "verified"),
        ([({}, FOR)], f"{NOT_TESTED} (supported in a stand-in)"),
        # of several verdicts the one that says most against the sentence
        ([(PAPER, FOR), (PAPER, OPEN)], "undecided (n = 52 would decide)"),
        ([(PAPER, FOR), (PAPER, OPEN), (PAPER, AGAINST)], "contradicted"),
        ([RIGHT, (EXACT | {"kind": "error"}, (1, 1, 1))], "error in print"),
        ([RIGHT, (EXACT | {"condition": "delta > 0"}, (0, 0, 0))], "verified if delta > 0"),
        # a counterexample adds its condition and verifies nothing
        ([RIGHT, LIMIT], "verified if no bias inside"),
        ([LIMIT, ({}, AGAINST)], f"{NOT_TESTED} (contradicted in a stand-in)"),
        ([LIMIT], "not measured (not run)"),
        # each network at its own step size decides over one for both, but not in a stand-in
        ([(ONE, AGAINST), (OWN, FOR)], "supported"),
        ([(ONE, AGAINST)], "contradicted"),
        ([(ONE, AGAINST), ({"steps": "own"}, FOR)], "contradicted"),
        # criteria that disagree are undecided together
        ([(FAIR, FOR), (FAIR, FOR)], "supported"),
        (
            [(FAIR, FOR), (FAIR, AGAINST)],
            "undecided (by the criterion that chooses step sizes: supported, contradicted)",
        ),
    ],
)
def test_a_sentence_has_the_verdict_of_what_decides_it(evidence, said):
    assert str(verdict(*evidence)) == said


def test_every_verdict_on_a_rule_has_its_place_among_those_on_a_sentence():
    assert {*sentences.AGAINST} == {*SENTENCE_WORDS} - {"read", NOT_TESTED, "not measured"}


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

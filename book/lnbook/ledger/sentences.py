"""The verdict on a sentence of the paper: what its rules together say.

Evidence at the paper's own size, and mathematics, decide; without any a sentence is *not tested at the
paper's size*, whatever stand-ins say. Several estimates for one sentence share its 5 %: each is decided only
if it is by Holm's procedure, so that chance alone decides at most one sentence in twenty. Of several verdicts
the one that says most against the sentence counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lnbook.ledger.rules import Rule, Sentence
from lnbook.ledger.verdicts import WORDS, Measurement, Verdict, judge, two_sided

__all__ = ["NOT_TESTED", "SENTENCE_WORDS", "Judged", "judge_sentence", "with_holm"]

NOT_TESTED = "not tested at the paper's size"
SENTENCE_WORDS = (*WORDS[:-1], NOT_TESTED, WORDS[-1])
AGAINST = (
    "error in print",
    "contradicted",
    "smaller than claimed",
    "undecided",
    "ordered",
    "supported",
    "verified if",
    "verified",
)
LEVEL = 0.05


@dataclass(frozen=True)
class Judged:
    """A sentence with its verdict and that of each of its rules, in the ledger's order."""

    sentence: Sentence
    verdict: Verdict
    rules: tuple[tuple[Rule, Measurement | None, Verdict], ...] = ()


def judge_sentence(sentence: Sentence, rules: Sequence[Rule], found: Mapping[str, Measurement]) -> Judged:
    """Roll the verdicts on a sentence's rules up to one."""
    own = [rule for rule in rules if rule.sentence == sentence.id]
    single = tuple((rule, found.get(rule.id), judge(rule, found.get(rule.id))) for rule in own)
    if not any(verdict.word != "not measured" for _, _, verdict in single):
        why = sentence.reason or ("no run reaches its goal" if own else "no rule tests it yet")
        return Judged(sentence, Verdict("not measured", "", why), single)
    decisive = [rule for rule in own if rule.size in ("exact", "paper") and rule.id in found]
    below = [rule for rule in own if rule.size not in ("exact", "paper") and rule.id in found]
    if decisive and (verdict := _rolled_up(decisive, found)):
        return Judged(sentence, verdict, single)
    hint = _rolled_up(below, found)
    note = f"{hint.word} {hint.where}" if hint else ""
    return Judged(sentence, Verdict(NOT_TESTED, "", note.strip()), single)


def _rolled_up(rules: Sequence[Rule], found: Mapping[str, Measurement]) -> Verdict | None:
    verdicts = [v for v in with_holm(rules, found) if v.word != "not measured"]
    for word in AGAINST:
        same = [verdict for verdict in verdicts if verdict.word == word]
        if same:
            notes = dict.fromkeys(verdict.note for verdict in same if verdict.note)
            places = dict.fromkeys(verdict.where for verdict in same if verdict.where)
            return Verdict(word, " and ".join(places), "; ".join(notes))
    return None


def with_holm(rules: Sequence[Rule], found: Mapping[str, Measurement]) -> list[Verdict]:
    """The rules' verdicts; an estimate is decided only if it is when all share 5 % by Holm's procedure."""
    verdicts = [judge(rule, found.get(rule.id)) for rule in rules]
    decided = [
        k for k, v in enumerate(verdicts) if rules[k].sampled and v.word in ("supported", "contradicted")
    ]
    tests = [r for r in rules if r.sampled and r.id in found and found[r.id].has_interval]
    order = sorted(decided, key=lambda k: two_sided(rules[k], found[rules[k].id]))
    for place, k in enumerate(order):
        if two_sided(rules[k], found[rules[k].id]) * (len(tests) - place) > LEVEL:
            for later in order[place:]:
                note = f"{verdicts[later].word} alone, not with the sentence's other {len(tests) - 1}"
                verdicts[later] = replace(verdicts[later], word="undecided", note=note)
            break
    return verdicts

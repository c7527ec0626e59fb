"""The verdict on a sentence of the paper: what its rules together say.

Evidence at the paper's own size, and mathematics, decide; without any a sentence is *not tested at the
paper's size*, whatever stand-ins say. Where networks were compared with each at its own step size, that
decides, and the comparison at one step size stands beside. Rules of one `group` decide only together: where
their criteria lead to different words, that question is undecided. Several estimates for one sentence share
its 5 %: each is decided only if it is by Holm's procedure, so that chance alone decides at most one sentence
in twenty. Of several verdicts the one that says most against the sentence counts. A counterexample outside a
condition adds the condition to what is verified, and verifies nothing itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lnbook.ledger.rules import Rule, Sentence
from lnbook.ledger.verdicts import LEVEL, NOT_TESTED, Measurement, Verdict, judge, two_sided

AGAINST = (
    "error in print",
    "contradicted",
    "smaller than claimed",
    "below what counts here",
    "undecided",
    "supported",
    "verified if",
    "verified",
    "implemented as described",
)


@dataclass(frozen=True)
class Judged:
    """A sentence, its verdict, that of each of its rules in the ledger's order, and the rules that decide."""

    sentence: Sentence
    verdict: Verdict
    rules: tuple[tuple[Rule, Measurement | None, Verdict], ...] = ()
    decided_by: tuple[Rule, ...] = ()


def judge_sentence(sentence: Sentence, rules: Sequence[Rule], found: Mapping[str, Measurement]) -> Judged:
    """Roll the verdicts on a sentence's rules up to one."""
    own = [rule for rule in rules if rule.sentence == sentence.id]
    single = tuple((rule, found.get(rule.id), judge(rule, found.get(rule.id))) for rule in own)
    weighed = [rule for rule, _, verdict in single if verdict.word != "not measured"]
    if decisive := _weighed([rule for rule in weighed if rule.size in ("exact", "paper")]):
        return Judged(sentence, _rolled_up(decisive, found), single, tuple(decisive))
    if below := _weighed([rule for rule in weighed if rule.size not in ("exact", "paper")]):
        hint = _rolled_up(below, found)
        return Judged(sentence, Verdict(NOT_TESTED, "", f"{hint.word} {hint.where}"), single, tuple(below))
    if sentence.read:
        return Judged(sentence, Verdict("read", "", sentence.read), single)
    return Judged(sentence, Verdict("not measured", "", sentence.reason or "not run"), single)


def _weighed(rules: Sequence[Rule]) -> list[Rule]:
    """Of measured rules of one size those that count: own step sizes before one, no counterexample alone."""
    if any(rule.steps == "own" for rule in rules):
        rules = [rule for rule in rules if rule.steps != "one"]
    return list(rules) if any(rule.kind != "limit" for rule in rules) else []


def _rolled_up(rules: Sequence[Rule], found: Mapping[str, Measurement]) -> Verdict:
    verdicts = _by_question(rules, with_holm(rules, found))
    word = next(word for word in AGAINST if any(verdict.word == word for verdict in verdicts))
    same = [verdict for verdict in verdicts if verdict.word == word]
    notes = dict.fromkeys(verdict.note for verdict in same if verdict.note)
    places = dict.fromkeys(verdict.where for verdict in same if verdict.where)
    return Verdict(word, " and ".join(places), "; ".join(notes))


def _by_question(rules: Sequence[Rule], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts; of a group whose criteria lead to different words one that says so."""
    questions: dict[str, list[Verdict]] = {}
    for rule, verdict in zip(rules, verdicts, strict=True):
        questions.setdefault(rule.group or rule.id, []).append(verdict)
    found: list[Verdict] = []
    for same in questions.values():
        words = dict.fromkeys(verdict.word for verdict in same)
        note = f"by the criterion that chooses step sizes: {', '.join(words)}"
        found += same if len(words) == 1 else [Verdict("undecided", same[0].where, note)]
    return found


def holm(ordered: Sequence[float], tests: int) -> int:
    """How many of a number of tests with these smallest probabilities are decided if all share 5 %."""
    return next((k for k, p in enumerate(ordered) if p * (tests - k) > LEVEL), len(ordered))


def with_holm(rules: Sequence[Rule], found: Mapping[str, Measurement]) -> list[Verdict]:
    """The rules' verdicts; an estimate is decided only if it is when all share 5 % by Holm's procedure."""
    verdicts = [judge(rule, found.get(rule.id)) for rule in rules]
    known = {k: found[r.id] for k, r in enumerate(rules) if r.sampled and r.id in found}
    p = {k: two_sided(rules[k], one) for k, one in known.items() if one.has_interval}
    decided = [k for k in p if verdicts[k].word in ("supported", "contradicted")]
    order = sorted(decided, key=lambda k: p[k])
    for k in order[holm([p[k] for k in order], len(p)) :]:
        note = f"{verdicts[k].word} alone, not with the sentence's other {len(p) - 1}"
        verdicts[k] = replace(verdicts[k], word="undecided", note=note)
    return verdicts

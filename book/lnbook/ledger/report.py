"""The whole ledger at once: every sentence and rule with its recorded evidence, for pages and the README."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from lnbook.ledger.recorded import load_recorded
from lnbook.ledger.rows import book_dir
from lnbook.ledger.rules import Rule, load_rules, load_sentences, origin
from lnbook.ledger.sentences import Judged, holm, judge_sentence
from lnbook.ledger.tables import Table, marked, number
from lnbook.ledger.verdicts import LEVEL, MARK, SENTENCE_WORDS, YOUNGER, Measurement, judge, two_sided


@dataclass(frozen=True)
class Report:
    sentences: tuple[Judged, ...]
    rules: tuple[Rule, ...]
    found: Mapping[str, Measurement]
    flags: Mapping[str, str]

    @cached_property
    def younger(self) -> frozenset[str]:
        """Rules that are younger than their data, and sentences that such a rule decides, by their names."""
        rules = {name for name, flag in self.flags.items() if YOUNGER in flag}
        decided = {j.sentence.id for j in self.sentences if rules & {r.id for r in j.decided_by}}
        return frozenset(rules | decided)

    def of(self, whose: str) -> list[Rule]:
        """The rules that test statements of the paper, of this book, of explainers, of later literature."""
        return [rule for rule in self.rules if origin(rule) == whose]

    def tally(self) -> Table:
        """How many sentences of the paper have each verdict, and how many of them are marked."""
        rows = []
        for word in SENTENCE_WORDS:
            if same := [j.sentence.id for j in self.sentences if j.verdict.word == word]:
                young = sum(name in self.younger for name in same)
                rows.append([word, str(len(same)) + (f" ({young} {MARK})" if young else "")])
        return Table(("Verdict", "Sentences"), rows)

    def together(self) -> str:
        """Which decided estimates would not be if all estimates of the ledger shared one error of 5 %."""
        found = [(r, self.found[r.id]) for r in self.rules if r.sampled and r.id in self.found]
        tests = sorted(((two_sided(r, m), r, m) for r, m in found if m.has_interval), key=lambda t: t[0])
        n = len(tests)
        hochberg = max((k for k, (p, *_) in enumerate(tests, 1) if p * n <= LEVEL * k), default=0)
        decided = {r.id for _, r, m in tests if judge(r, m).word in ("supported", "contradicted")}
        lost = [
            [r.id for _, r, _ in tests[kept:] if r.id in decided]
            for kept in (holm([p for p, *_ in tests], n), hochberg)
        ]
        named = f": {', '.join(lost[1])}" if lost[1] else ""
        return (
            f"{len(decided)} of {n} estimates are decided, each for itself. If all shared one error of 5 %, "
            f"Holm's procedure (no false decision at all) would drop {len(lost[0])} of them, Benjamini and "
            f"Hochberg's (one in twenty decisions false) {len(lost[1])}{named}. Intervals are over seeds, or "
            "what the row names: not over questions, pictures or people, which were the same for all."
        )

    def brief(self, *words: str) -> Table:
        """The sentences with these verdicts, the evidence that decides them, and what to say with it."""
        rows = []
        for j in (j for j in self.sentences if j.verdict.word in words):
            told = "; ".join(f"{r.quantity}: {number(r, self.found[r.id])}" for r in j.decided_by)
            verdict = marked(j.verdict, j.sentence.id in self.younger)
            rows.append([j.sentence.place, j.sentence.says, told, verdict])
        return Table(("Where", "The paper says", "We measured", "Verdict"), rows)


def report(book: Path | None = None) -> Report:
    """The ledger with the committed rows of a checkout's `book/`; the default is this one's."""
    place = book or book_dir()
    if place is None:
        raise FileNotFoundError("recorded rows are in the repository, under book/results; clone it")
    rules = load_rules(place / "claims.toml")
    found, flags = load_recorded(rules, folder=place / "results")
    judged = [judge_sentence(s, rules, found) for s in load_sentences(place / "claims.toml")]
    return Report(tuple(judged), tuple(rules), found, flags)

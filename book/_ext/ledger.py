"""What pages show of the ledger: `{sentences}`, `{rules}`, `{verdicts}`, `{settings}`; and in a sentence a
recorded number (`{measured}`) or `{verdict}`."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from math import log
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective, SphinxRole

from digest import BOOK
from lnbook.cli.experiments import find
from lnbook.ledger.recorded import changed_checkout
from lnbook.ledger.report import Report, report
from lnbook.ledger.rows import read_facts
from lnbook.ledger.rules import Rule, criterion
from lnbook.ledger.sentences import Judged
from lnbook.ledger.tables import badge, capital, html_table, marked, measured_cell, quantity, verdict_class
from lnbook.ledger.verdicts import SENTENCE_WORDS, YOUNGER, Measurement, Verdict, judge
from lnbook.training.task import Experiment
from top import title

LABELS = {  # where an experiment's settings come from
    "paper": "The paper says",
    "sources": "What it builds on says",
    "ours": "Nobody says; ours",
    "differs": "Deviations at scale paper",
    "study": "Scale study is smaller",
}


@cache
def record() -> Report:
    """What is recorded, judged once for all pages of a build."""
    return report(BOOK)


def judged(verdict: Verdict, flag: str = "") -> str:
    """A verdict, and what has to be said with it."""
    more = f'<span class="flag">{escape(flag)}</span>' if flag else ""
    return badge(marked(verdict, YOUNGER in flag)) + more


def evidence(rule: Rule, known: Report) -> str:
    """What was measured for a rule, or before its runs what will be, and on which page."""
    found = known.found.get(rule.id)
    words = measured_cell(rule, found) if found else f"{rule.quantity}: not run yet"
    page = f'<a href="{escape(rule.page)}.html">{escape(title(rule.page))}</a>'
    return f"{escape(words)}. {page}"


def strip(
    name: str, place: str, says: str, shown: str, verdict: str, more: str, rules: Iterable[Rule]
) -> str:
    """A line of the ledger that opens: what is said and where, its interval, its verdict; the evidence."""
    pages = " ".join(dict.fromkeys(rule.page for rule in rules))
    return (
        f'<details class="strip" id="{escape(name)}" data-pages="{escape(pages)}"><summary>'
        f'<span class="says">{escape(capital(says))} <span class="place">{escape(place)}</span></span>'
        f"{shown}<span>{badge(verdict)}</span></summary>{more}</details>"
    )


def sentence_strip(one: Judged, known: Report) -> str:
    """A sentence of the paper, the first interval that decides it, its verdict; inside, the evidence."""
    items = ""
    for rule, _, verdict in one.rules:
        words = f"{evidence(rule, known)} {judged(verdict, known.flags.get(rule.id, ''))}"
        items += f'<li id="{escape(rule.id)}">{words}</li>'
    bars = (bar(rule, known.found.get(rule.id)) for rule in one.decided_by)
    first = next(filter(None, bars), "")
    word = marked(Verdict(one.verdict.word), one.sentence.id in known.younger)
    said = escape(str(one.verdict).removeprefix(one.verdict.word).strip())
    more = (f"<p>{said}</p>" if said else "") + (f"<ul>{items}</ul>" if items else "")
    rules = [rule for rule, _, _ in one.rules]
    return strip(one.sentence.id, one.sentence.place, one.sentence.says, first, word, more, rules)


def rule_strip(rule: Rule, known: Report) -> str:
    """Another's statement or ours, its interval, its verdict; inside, the evidence."""
    found, flag = known.found.get(rule.id), known.flags.get(rule.id, "")
    verdict = judge(rule, found)
    word = marked(Verdict(verdict.word), YOUNGER in flag)
    more = f"<p>{evidence(rule, known)} {judged(verdict, flag)}</p>"
    return strip(rule.id, rule.source, rule.says, bar(rule, found), word, more, [rule])


def bar(rule: Rule, found: Measurement | None) -> str:
    """An interval against the bound of its rule, drawn; "" of what has none. Its numbers are in words."""
    if found is None or not rule.sampled or not found.has_interval:
        return ""
    marks = [criterion(rule)[1], found.low, found.value, found.high]
    if rule.scale == "ratio" and min(marks) > 0:
        marks = [log(mark) for mark in marks]
    width = max(marks) - min(marks)
    bound, low, value, high = (f"{5 + 80 * (mark - min(marks)) / width:.0f}" for mark in marks)
    return (
        f'<svg class="interval" viewBox="0 0 90 16" aria-hidden="true"><path d="M{bound} 0V16"/>'
        f'<path d="M{low} 8H{high}"/><circle cx="{value}" cy="8" r="3"/></svg>'
    )


def page_tally(page: str, rules: Sequence[Rule], here: Mapping[str, Measurement]) -> str:
    """A line for the foot of a page: how many results came out how, and where each can be read."""
    known = record()
    found = [known.found.get(rule.id) if rule.sampled else here.get(rule.id) for rule in rules]
    counts = Counter(judge(rule, measured).word for rule, measured in zip(rules, found, strict=True))
    words = " ".join(
        f"<span>{badge(word)} {counts[word]}</span>" for word in SENTENCE_WORDS if word in counts
    )
    every = f'<a href="ledger.html?page={escape(page)}">the ledger</a>'
    return f'<p class="tally">This page measures {len(rules)} quantities, all in {every}: {words}</p>'


def recorded(directive: SphinxDirective | SphinxRole) -> Report:
    """The record, for a page that is read again when the rules or the recorded rows change."""
    for file in (BOOK / "claims.toml", *(BOOK / "results").glob("*/*.*")):
        directive.env.note_dependency(str(file))
    return record()


class SentencesDirective(SphinxDirective):
    """`{sentences}`: the paper's sentences of a `:section:`, each with its evidence and its verdict."""

    option_spec: ClassVar = {"section": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        known = recorded(self)
        wanted = self.options["section"].split()
        chosen = [j for j in known.sentences if in_section(j.sentence.section, wanted)]
        if not chosen:
            raise self.error(f"the ledger has no sentence of section {self.options['section']!r}")
        strips = "".join(sentence_strip(one, known) for one in chosen)
        return [nodes.raw("", f'<div class="ledger paper">{strips}</div>', format="html")]


class RulesDirective(SphinxDirective):
    """`{rules}`: the statements `:of:` this book, of explainers or of later literature, with verdicts."""

    option_spec: ClassVar = {"of": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        known = recorded(self)
        strips = "".join(rule_strip(rule, known) for rule in known.of(self.options["of"]))
        return [nodes.raw("", f'<div class="ledger">{strips}</div>', format="html")]


class VerdictsDirective(SphinxDirective):
    """`{verdicts}`: how many sentences of the paper have each, and a mark for each sentence; with
    `:show: together`, what would be left if all estimates were judged together."""

    option_spec: ClassVar = {"show": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        known = recorded(self)
        if "show" in self.options:
            return [nodes.paragraph("", known.together())]
        ticks = ""
        for j in known.sentences:
            told = escape(f"{j.sentence.place}: {j.sentence.says} ({j.verdict.word})")
            to = f'href="ledger.html#{escape(j.sentence.id)}" tabindex="-1" title="{told}"'
            ticks += f'<a class="tick {verdict_class(j.verdict.word)}" {to}></a>'
        counts = Counter(j.verdict.word for j in known.sentences)
        words = " ".join(
            f'<a href="ledger.html?of=paper&amp;verdict={quote(word)}">{badge(word)} {counts[word]}</a>'
            for word in SENTENCE_WORDS
            if word in counts
        )
        shown = f'<p class="ticks" aria-hidden="true">{ticks}</p><p class="tally">{words}</p>'
        return [nodes.raw("", shown, format="html")]


class RecordRole(SphinxRole):
    """What the record has on a rule, in a sentence: its number, or by `{verdict}` a link of its verdict."""

    def __init__(self, words: Callable[[Rule, Report], nodes.Node]) -> None:
        super().__init__()
        self.words = words

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        known = recorded(self)
        rule = next((rule for rule in known.rules if rule.id == self.text), None)
        if rule is None:
            message = self.inliner.reporter.error(f"the ledger has no rule {self.text!r}", line=self.lineno)
            return [], [message]
        return [self.words(rule, known)], []


def measured_words(rule: Rule, known: Report) -> nodes.Node:
    """The recorded number, with its unit and interval."""
    found = known.found.get(rule.id)
    return nodes.inline("", quantity(rule, found) if found else "no number")


def verdict_words(rule: Rule, known: Report) -> nodes.Node:
    """The recorded verdict, marked if its rule is younger, and where it was measured if not at full size."""
    verdict = judge(rule, known.found.get(rule.id))
    words = marked(Verdict(verdict.word, verdict.where), rule.id in known.younger)
    return nodes.reference("", words, refuri=f"ledger.html#{rule.id}", internal=True)


def differences(words: str) -> list[tuple[str, str, str]]:
    """What differs, what the paper or its sources have, and what scale "paper" has; [] for plain words.

    >>> differences("Clipping | At 10. | At 1.")
    [('Clipping', 'At 10.', 'At 1.')]
    """
    lines = [line.split(" | ") for line in words.splitlines() if " | " in line]
    return [(what, theirs, ours) for what, theirs, ours in lines]


def runs_recorded(experiment: Experiment, book: Path) -> str:
    """How many runs of which scale `results/` holds, of how many seeds, in how many hours; what is amiss."""
    told = []
    for scale in ("paper", "study"):
        if (book / "results" / scale / f"{experiment.name}.csv").is_file():
            facts = read_facts(experiment.name, scale=scale, folder=book / "results")
            seeds = {run["job"]["seed"] for run in facts["runs"]}
            words = f"{scale}: {len(facts['runs'])} runs, {len(seeds)} seeds, {facts['seconds'] / 3600:.1f} h"
            told.append(", ".join(filter(None, (words, changed_checkout(facts)))))
    return "; ".join(told)


def table_of_differences(words: str) -> str:
    """A row for each difference between scale "paper" and what the experiment repeats; "" for plain words."""
    rows = [[*map(escape, cells)] for cells in differences(words)]
    columns = "Setting", "In the paper or its sources", "Here"
    return html_table("Differences", columns, rows) if rows else ""


class SettingsDirective(SphinxDirective):
    """`{settings} <section>`: where the settings of its experiment come from, and what is recorded of it.

    A second argument names an experiment with the same settings, whose runs are told, too.
    """

    required_arguments = 1
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        for file in (BOOK / "results").glob("*/*.json"):
            self.env.note_dependency(str(file))
        experiment = find(self.arguments[0])
        found = {label: getattr(experiment.settings, key) for key, label in LABELS.items()}
        told = [runs_recorded(experiment, BOOK)]
        told += [f"{name}, {runs_recorded(find(name), BOOK)}" for name in self.arguments[1:]]
        found["Recorded"] = "; ".join(filter(None, told)) or "nothing"
        items = "".join(
            f"<dt>{escape(label)}</dt><dd>{table_of_differences(words) or escape(words)}</dd>"
            for label, words in found.items()
        )
        return [nodes.raw("", f'<dl class="settings">{items}</dl>', format="html")]


def in_section(section: str, wanted: Iterable[str]) -> bool:
    """Whether a section is one of those wanted or inside one.

    >>> in_section("5.2.1", ["5.2"]), in_section("5.2", ["5"]), in_section("6.1", ["6.10"])
    (True, True, False)
    """
    return any(section == w or section.startswith(f"{w}.") for w in wanted)

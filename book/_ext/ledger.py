"""What pages show of the ledger: `{sentences}`, `{rules}`, `{verdicts}`, `{settings}`; and in a sentence a
recorded number (`{measured}`) or `{verdict}`."""

from collections.abc import Callable, Iterable
from functools import cache
from html import escape
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective, SphinxRole

from digest import BOOK
from lnbook.cli.experiments import find
from lnbook.cli.settings import differences, settings_of
from lnbook.ledger.report import Report, report
from lnbook.ledger.rules import Rule
from lnbook.ledger.sentences import Judged
from lnbook.ledger.tables import badge, html_table, marked, measured_cell, quantity
from lnbook.ledger.verdicts import YOUNGER, Measurement, Verdict, judge
from top import title


@cache
def record() -> Report:
    """What is recorded, judged once for all pages of a build."""
    return report(BOOK)


def judged(verdict: Verdict, flag: str = "") -> str:
    """A verdict, and what has to be said with it."""
    more = f'<span class="flag">{escape(flag)}</span>' if flag else ""
    return badge(marked(verdict, YOUNGER in flag)) + more


def evidence(rule: Rule, found: Measurement | None) -> str:
    """What was measured, or of a rule that is there before its runs what will be."""
    return measured_cell(rule, found) if found else f"{rule.quantity}: not run yet"


def sentence_row(one: Judged, known: Report) -> list[str]:
    """What a sentence says and where, the evidence under it, its verdict."""
    items = "".join(
        f'<li><a href="{escape(rule.page)}.html">{escape(title(rule.page))}</a>: '
        f"{escape(evidence(rule, found))} {judged(verdict, known.flags.get(rule.id, ''))}</li>"
        for rule, found, verdict in one.rules
    )
    says = (
        f'<span id="{escape(one.sentence.id)}">{escape(one.sentence.says)}</span>'
        f'<span class="place">{escape(one.sentence.place)}</span>'
    )
    verdict = judged(one.verdict, YOUNGER if one.sentence.id in known.younger else "")
    return [says, f"<ul>{items}</ul>" if items else "none", verdict]


def rule_row(rule: Rule, known: Report) -> list[str]:
    """A rule's place with a link to its page, its statement, what was measured, the verdict."""
    found = known.found.get(rule.id)
    where = f'<a href="{escape(rule.page)}.html">{escape(rule.source)}</a>'
    verdict = judged(judge(rule, found), known.flags.get(rule.id, ""))
    return [where, escape(rule.says), escape(evidence(rule, found)), verdict]


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
        label = f"Sentences of section {self.options['section']}"
        rows = [sentence_row(one, known) for one in chosen]
        columns = "The paper says", "Evidence", "Verdict"
        return [nodes.raw("", html_table(label, columns, rows, "ledger sentences"), format="html")]


class RulesDirective(SphinxDirective):
    """`{rules}`: the statements `:of:` this book, of explainers or of later literature, with verdicts."""

    option_spec: ClassVar = {"of": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        known, whose = recorded(self), self.options["of"]
        rows = [rule_row(rule, known) for rule in known.of(whose)]
        columns = "Where", "Statement", "We measured", "Verdict"
        return [nodes.raw("", html_table(f"Statements of {whose}", columns, rows, "ledger"), format="html")]


class VerdictsDirective(SphinxDirective):
    """`{verdicts}`: how many sentences have each; by `:show:` those decided `against`, or what would be left
    if all estimates were judged `together`."""

    option_spec: ClassVar = {"show": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        known = recorded(self)
        if self.options.get("show") == "together":
            return [nodes.paragraph("", known.together())]
        table = known.decided_against() if "show" in self.options else known.tally()
        return [nodes.raw("", table._repr_html_(), format="html")]


class RecordRole(SphinxRole):
    """What the record has on a rule, in a sentence: its number, or by `{verdict}` its verdict."""

    def __init__(self, words: Callable[[Rule, Measurement | None, bool], str]) -> None:
        super().__init__()
        self.words = words

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        known = recorded(self)
        rule = next((rule for rule in known.rules if rule.id == self.text), None)
        if rule is None:
            message = self.inliner.reporter.error(f"the ledger has no rule {self.text!r}", line=self.lineno)
            return [], [message]
        words = self.words(rule, known.found.get(rule.id), rule.id in known.younger)
        return [nodes.inline("", words)], []


def measured_words(rule: Rule, found: Measurement | None, _: bool) -> str:
    """The recorded number, with its unit and interval."""
    return quantity(rule, found) if found else "no number"


def verdict_words(rule: Rule, found: Measurement | None, younger: bool) -> str:
    """The recorded verdict, marked if its rule is younger, and where it was measured if not at full size."""
    verdict = judge(rule, found)
    return marked(Verdict(verdict.word, verdict.where), younger)


def table_of_differences(words: str) -> str:
    """A row for each difference between scale "paper" and what the experiment repeats; "" for plain words."""
    rows = [[*map(escape, cells)] for cells in differences(words)]
    columns = "Setting", "In the paper or its sources", "Here"
    return html_table("Differences", columns, rows) if rows else ""


class SettingsDirective(SphinxDirective):
    """`{settings} <section>`: where the settings of its experiment come from, and what is recorded of it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        for file in (BOOK / "results").glob("*/*.json"):
            self.env.note_dependency(str(file))
        found = settings_of(find(self.arguments[0]), BOOK)
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

"""Tables, and rules with what was measured for them."""

import math
from collections.abc import Mapping, Sequence
from html import escape

from lnbook.ledger.rules import Rule
from lnbook.ledger.verdicts import MARK, SENTENCE_WORDS, YOUNGER, Measurement, Verdict, judge


class Table:
    """Rows of text: HTML in a page, where a table without any says so, and Markdown elsewhere.

    `links`, if given, are those of the first cells, in a page.
    """

    def __init__(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], links: Sequence[str] = ()
    ) -> None:
        self.header, self.rows, self.links = header, rows, links

    def to_markdown(self) -> str:
        """GitHub's table syntax; a bar inside a cell is escaped."""
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        return "\n".join("| " + " | ".join(c.replace("|", r"\|") for c in line) + " |" for line in lines)

    __repr__ = to_markdown

    def _repr_html_(self) -> str:
        show = [badge if name == "Verdict" else escape for name in self.header]
        rows = [[f(x) for f, x in zip(show, r, strict=True)] for r in self.rows]
        for row, link in zip(rows, self.links, strict=False):
            row[0] = f'<a href="{escape(link)}">{row[0]}</a>'
        return html_table("", self.header, rows)


def html_table(label: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Cells of HTML as a table that scrolls where it must; on a phone its rows are cards with these names."""
    head = "".join(f'<th scope="col">{escape(c)}</th>' for c in columns)
    body = "" if rows else f'<tr><td colspan="{len(columns)}">None.</td></tr>'
    for row in rows:
        cells = (f'<td data-column="{escape(c)}">{cell}</td>' for c, cell in zip(columns, row, strict=True))
        body += f"<tr>{''.join(cells)}</tr>"
    named = f' role="region" aria-label="{escape(label)}"' if label else ""
    return (
        f'<div class="lnlib-table"{named} tabindex="0"><table class="table">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def badge(verdict: str) -> str:
    """A verdict as HTML, its word with a class for its color."""
    word = max((w for w in SENTENCE_WORDS if verdict.startswith(w)), key=len, default="")
    shown = f'<span class="{verdict_class(word)}">{escape(word)}</span>' if word else ""
    return shown + escape(verdict[len(word) :])


def verdict_class(word: str) -> str:
    """The classes that give a verdict its color."""
    return f"verdict verdict-{word.replace(' ', '-').replace(chr(39), '')}"


def capital(words: str) -> str:
    """The words, beginning with a capital letter."""
    return words[:1].upper() + words[1:]


def number(rule: Rule, found: Measurement) -> str:
    """A measurement with its unit, its 95 % interval if it has one, and what it is over."""
    value = quantity(rule, found)
    return f"{value}, {found.n} {rule.counts}" if found.n > 1 and not math.isnan(found.value) else value


def quantity(rule: Rule, found: Measurement) -> str:
    """`number` without what it is over, for a sentence."""
    if math.isnan(found.value):
        return "no number"
    value = digits(found.value) + (f" {rule.unit}" if rule.unit else "")
    return f"{value} [{digits(found.low)}, {digits(found.high)}]" if found.has_interval else value


def digits(x: float) -> str:
    """Three significant digits; up to a million, thousands are written out.

    >>> digits(13421.7), digits(0.000123456), digits(2e9)
    ('13,400', '0.000123', '2e+09')
    """
    return f"{float(f'{x:.3g}'):,.0f}" if 1000 <= abs(x) < 1e6 else f"{x:.3g}"


def measured_cell(rule: Rule, found: Measurement | None) -> str:
    """What a row says was measured: the number, of what, and what the rule asks of it."""
    if found is None:
        return "-"
    needs = rule.expect.replace("<=", "≤").replace(">=", "≥").replace("==", "=")
    asks = [f"the rule: {needs}"]
    if rule.kind == "same":
        asks.append(f"within {'a factor of ' if rule.scale == 'ratio' else ''}{rule.margin:g}")
    if rule.effect is not None:
        asks.append(f"{'the paper has' if rule.effect_from == 'paper' else 'an effect is'} {rule.effect:g}")
    elif rule.paper is not None:
        asks.append(f"the paper has {rule.paper:g}")
    return f"{number(rule, found)}: {rule.quantity} ({'; '.join(asks)})"


def rules_table(
    rules: Sequence[Rule], found: Mapping[str, Measurement], flags: Mapping[str, str] | None = None
) -> Table:
    """A row per rule: place, statement, what was measured, verdict; `flags` are added to the verdict."""
    rows = []
    for rule in rules:
        flag = (flags or {}).get(rule.id, "")
        verdict = marked(judge(rule, found.get(rule.id)), YOUNGER in flag) + (f"; {flag}" if flag else "")
        rows.append([rule.source, rule.says, measured_cell(rule, found.get(rule.id)), verdict])
    return Table(("Where", "Statement", "Measured", "Verdict"), rows)


def marked(verdict: Verdict, younger: bool) -> str:
    """A verdict, with the mark of a rule that is younger than its data behind its word."""
    return f"{verdict.word} {MARK}{str(verdict).removeprefix(verdict.word)}" if younger else str(verdict)

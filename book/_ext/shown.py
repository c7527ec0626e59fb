"""What a page measures for its rules, as a reader sees it: the statement, the number, the verdict.

A page's code prints `Shown`, a line for programmers that begins with a rule's id. In the built page, a card
takes the place of each such line; a line that is not what the run's rows say stays as it was printed.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from html import escape

from nbformat import NotebookNode, v4

from ledger import badge
from lnbook.ledger.results import Shown
from lnbook.ledger.rules import Rule
from lnbook.ledger.tables import number
from lnbook.ledger.verdicts import Measurement, judge

__all__ = ["card", "with_cards"]

Record = Mapping[str, Measurement]
Cards = Mapping[str, Callable[[str], str]]  # by the printed line: the card, with what was printed after it


def with_cards(notebook: NotebookNode, rules: Mapping[str, Rule], here: Record, record: Record) -> None:
    """Put cards into the outputs of a notebook.

    Args:
        notebook: executed; changed in place.
        rules: of the page, by id.
        here: what this run measured, by rule.
        record: what is recorded, by rule; the verdict on an estimate is that of the record.
    """
    lines = {
        repr(Shown(rules[name], found)): partial(card, rules[name], found, record)
        for name, found in here.items()
    }
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [new for output in cell.outputs for new in _replaced(output, lines)]


def card(rule: Rule, found: Measurement, record: Record, rest: str = "") -> str:
    """HTML of one result: the number of this run and, where it differs, that of the record, which is judged.

    `rest` is what the page printed after it.
    """
    verdict, here = badge(judge(rule, record.get(rule.id) if rule.sampled else found)), ""
    if rule.sampled:
        known = record.get(rule.id)
        if known and number(rule, known) != number(rule, found):
            here = '<span class="whose">on this page</span> '
            verdict = f"<strong>{escape(number(rule, known))}</strong> {verdict}"
        verdict = f'<a class="whose" href="ledger.html">in the record</a>: {verdict}'
    more = f'<span class="rest">{escape(rest)}</span>' if rest else ""
    return (
        f'<div class="result" data-rule="{escape(rule.id)}"><p class="says">{escape(rule.says)}</p>'
        f"<p>{escape(rule.quantity)}: {here}<strong>{escape(number(rule, found))}</strong> {more}</p>"
        f"<p>{verdict}</p></div>"
    )


def _replaced(output: NotebookNode, lines: Cards) -> Iterator[NotebookNode]:
    """An output in parts: cards for the lines that are known, text for the others."""
    text = output.get("text", "") if output.output_type == "stream" else _plain(output)
    parts = list(_parts(text, lines))
    if not any(is_card for is_card, _ in parts):
        yield output
        return
    for is_card, part in parts:
        if is_card:
            yield v4.new_output("display_data", {"text/html": part})
        elif part.strip():
            # not a stream: those of a cell are merged, and would leave their places between the cards
            yield v4.new_output("display_data", {"text/plain": part.strip("\n")})


def _plain(output: NotebookNode) -> str:
    """The text of an output that is nothing but text."""
    data = output.get("data", {})
    return data["text/plain"] if set(data) == {"text/plain"} else ""


def _parts(text: str, lines: Cards) -> Iterator[tuple[bool, str]]:
    """(whether it is a card, its HTML or text), in the order of the lines."""
    between = ""
    for line in text.splitlines(keepends=True):
        said = next((s for s in lines if line.startswith(s) and line[len(s) :][:1] in ("", " ", "\n")), None)
        if said is None:
            between += line
            continue
        yield False, between
        between = ""
        yield True, lines[said](line[len(said) :].strip())
    yield False, between

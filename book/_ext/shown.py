"""What a page measures for its rules, as a reader sees it: the statement, the number, the verdict.

A page's code prints `Shown`, a line for programmers that begins with a rule's id. In the built page, a card
takes the place of each such line; a line that is not what the run's rows say stays as it was printed.
"""

import re
from collections.abc import Iterator, Mapping
from html import escape

from nbformat import NotebookNode, v4

from lnbook.ledger.rules import Rule
from lnbook.ledger.tables import badge, capital, number, quantity
from lnbook.ledger.verdicts import Measurement, judge
from lnbook.page import Shown

Record = Mapping[str, Measurement]
Lines = Mapping[str, tuple[Rule, Measurement]]  # by what is printed of them


def with_cards(notebook: NotebookNode, rules: Mapping[str, Rule], here: Record, record: Record) -> None:
    """Put cards into the outputs of a notebook: of what was measured `here`, or is in the record, by rule."""
    lines = {repr(Shown(rules[name], found)): (rules[name], found) for name, found in here.items()}
    printed = re.compile(rf"^({'|'.join(map(re.escape, lines))})(?:\n|\Z)", flags=re.MULTILINE)
    for cell in notebook.cells if lines else ():
        if cell.cell_type == "code":
            outputs = [(output, printed.split(_text(output))) for output in cell.outputs]
            cell.outputs = []
            for output, parts in outputs:
                cell.outputs += _replaced(parts, lines, record) if len(parts) > 1 else [output]


def card(rule: Rule, found: Measurement, record: Record) -> str:
    """HTML of one result: a line of the statement, the number and the verdict, which leads to the rule.

    An estimate's number is that of the record, which is judged. Its line opens: of what it is, over how many,
    and this run's where it differs.
    """
    known = record.get(rule.id) if rule.sampled else found
    shown = known or found
    said = (
        f'<span class="says">{escape(capital(rule.says))}</span> '
        f"<strong>{escape(quantity(rule, shown))}</strong>"
    )
    name, verdict = escape(rule.id), badge(judge(rule, known).word)
    if not rule.sampled:
        return f'<p class="result" data-rule="{name}">{said} <a href="ledger.html#{name}">{verdict}</a></p>'
    here = f"here {number(rule, found)}" if number(rule, found) != number(rule, shown) else ""
    over = f"{shown.n} {rule.counts}" if shown.n > 1 else ""
    return (
        f'<details class="result" data-rule="{name}"><summary>{said} {verdict}</summary>'
        f"<p>{escape('; '.join(filter(None, (rule.quantity, over, here))))}. "
        f'<a href="ledger.html#{name}">Rule</a></p></details>'
    )


def _text(output: NotebookNode) -> str:
    """What was printed, or the text of an output that is nothing but text."""
    data = output.get("data", {})
    return output.get("text", "") or (data["text/plain"] if set(data) == {"text/plain"} else "")


def _replaced(parts: list[str], lines: Lines, record: Record) -> Iterator[NotebookNode]:
    """Text, and again and again the line of a card and text."""
    # not streams: those of a cell are merged, and would leave their places between the cards
    for text, line in zip(parts[::2], [*parts[1::2], ""], strict=True):
        if text.strip():
            yield v4.new_output("display_data", {"text/plain": text.strip("\n")})
        if line:
            yield v4.new_output("display_data", {"text/html": card(*lines[line], record)})

"""A result on a built page is a card with the statement, the number and the verdict; other lines stay."""

from bs4 import BeautifulSoup
from nbformat import v4
from shown import with_cards

from lnbook.ledger.rules import Rule
from lnbook.ledger.verdicts import Measurement
from lnbook.page import Shown

SURE = Rule("sure", "3", "Eq. (3)", "Layer norm has mean <0>.", "page", "largest mean", "< 1", "computed")
RUNS = Rule(
    "runs", "6", "Fig. 1", "It is faster.", "page", "speed-up", "> 1", "effect", "stand-in",
    scale="ratio", effect=1.5, effect_from="ours", unit="times",
)  # fmt: skip
RULES = {"sure": SURE, "runs": RUNS}
HERE = {"sure": Measurement("sure", 0.5, 0.5, 0.5), "runs": Measurement("runs", 1.6, 0.9, 2.8, 5)}
RECORD = {"runs": Measurement("runs", 1.6, 1.2, 2.1, 8)}


def shown(*outputs):
    notebook = v4.new_notebook(cells=[v4.new_code_cell("...", outputs=list(outputs))])
    with_cards(notebook, RULES, HERE, RECORD)
    return notebook.cells[0].outputs


def words(output) -> str:
    return " ".join(BeautifulSoup(output.data["text/html"], "html.parser").get_text(" ").split())


def test_a_printed_result_is_a_card_in_its_place_and_the_lines_around_it_stay():
    text = f"before\n{Shown(SURE, HERE['sure'])}\nafter\n"
    before, card, after = shown(v4.new_output("stream", text=text))
    assert (before.data["text/plain"], after.data["text/plain"]) == ("before", "after")
    assert words(card) == "Layer norm has mean <0>. 0.5 verified"
    assert '<a href="ledger.html#sure"><span class="verdict verdict-verified">' in card.data["text/html"]


def test_an_estimate_stands_beside_that_of_the_record_whose_verdict_it_is():
    (card,) = shown(
        v4.new_output("execute_result", {"text/plain": repr(Shown(RUNS, HERE["runs"]))}, execution_count=1)
    )
    assert words(card) == (
        "It is faster. 1.6 times [1.2, 2.1] supported speed-up; 8 seeds; "
        "here 1.6 times [0.9, 2.8], 5 seeds. Rule"
    )


def test_another_line_and_a_figure_stay_as_they_are():
    line = repr(Shown(SURE, HERE["sure"]))
    others = "sure: 0.7 -> verified\n", f"{line}ly\n", f"{line} (of 3 cases)\n"
    figure = v4.new_output("display_data", {"text/plain": line, "image/svg+xml": "<svg/>"})
    for output in (figure, *(v4.new_output("stream", text=text) for text in others)):
        assert shown(output) == [output]

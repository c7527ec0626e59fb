"""The conclusion's drawing has a mark for every sentence."""

from legible import READABLE, smallest

from lnbook.figures import plots
from lnbook.ledger.intervals import Pooled
from lnbook.ledger.sentences import NOT_TESTED, SENTENCE_WORDS
from lnbook.ledger.verdicts import Measurement
from lnbook.pages.sec7_conclusion.drawings import ACROSS, AGAINST, FOR, MARKS, OPEN, forest, verdicts
from lnbook.pages.sec7_conclusion.reading import SECTIONS, Factors


def test_every_sentence_is_a_mark_in_the_row_of_its_section_in_the_order_of_verdicts() -> None:
    fig = verdicts(
        {"first": [NOT_TESTED, "verified", "error in print"], "second": [], "third": ["contradicted"]}
    )
    ax = fig.axes[0]
    marks = [(line.get_xdata()[0], line.get_ydata()[0], line.get_marker()) for line in ax.lines]
    assert marks == [(0, 0, "o"), (1, 0, "D"), (2, 0, "s"), (0, 2, "X")]
    filled = [line.get_markerfacecolor() != "none" for line in ax.lines]
    assert filled == [True, True, False, True], "what is open is empty"
    assert [text.get_text() for text in ax.get_yticklabels()] == ["first", "second", "third"]
    assert NOT_TESTED in [text.get_text() for text in fig.legends[0].get_texts()]
    assert plots._svg(fig, "verdicts")


def test_a_long_section_takes_several_lines_and_pushes_the_next_one_down() -> None:
    fig = verdicts({"long": ["verified"] * (ACROSS + 1), "next": ["verified"]})
    lines = fig.axes[0].lines
    assert [line.get_ydata()[0] for line in lines] == [0] * ACROSS + [1, 2]
    assert lines[ACROSS].get_xdata()[0] == 0


def test_a_color_says_for_against_or_open_and_the_shape_tells_the_rest() -> None:
    assert list(MARKS) == list(SENTENCE_WORDS)
    assert len(set(MARKS.values())) == len(SENTENCE_WORDS)
    assert {color for color, _ in MARKS.values()} == {FOR, AGAINST, OPEN}


def test_an_experiment_has_two_points_in_its_line_and_the_means_stand_below() -> None:
    own, one = Measurement("a", 1.5, 1.2, 1.9, 6), Measurement("b", 0.9, 0.8, 1.0, 6)
    mean = Pooled(1.1, 0.9, 1.3, 0.7, 1.7, 0.8)
    fig = forest({"6.4": Factors(own, one)}, {"own": mean, "one": mean}, SECTIONS)
    (ax,) = fig.axes
    drawn = [(list(line.get_xdata()), list(line.get_ydata())) for line in ax.lines]
    assert ([1.5], [-0.13]) in drawn
    assert ([0.8, 1.0], [0.13, 0.13]) in drawn
    assert ([0.7, 1.7], [1, 1]) in drawn
    assert [label.get_text() for label in ax.get_yticklabels()] == ["6.4 DRAW", "mean, own", "mean, one"]
    assert smallest(fig) >= READABLE

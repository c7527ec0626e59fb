"""The quiz asks what it can check, and its check takes right answers and no others."""

import math

import pytest

from lnbook.pages.beyond_convolution.quiz import NAMES, Question, ask, is_right
from lnbook.pages.beyond_convolution.reductions import FIVE, axes, means

MANY = ask(400, seed=3)


def known(question: Question) -> object:
    """The answer from the table of letters, which the check does not read."""
    if question.kind == "name":
        return question.norm
    if question.kind == "axes":
        return axes(FIVE[question.norm].over, question.layout)
    if question.kind == "means":
        return means(question.norm, question.shape, question.layout, question.groups)
    sizes = dict(zip(question.layout, question.shape, strict=True))
    return math.prod(question.shape) // sizes["N"] if question.norm == "layer" else sizes["C"]


def test_the_right_answer_passes_and_every_other_name_or_number_near_it_fails():
    for question in MANY[:120]:
        answer = known(question)
        assert is_right(question, answer), question
        if question.kind == "name":
            others = [name for name in NAMES if name != answer]
        elif question.kind == "axes":
            others = [axes(FIVE[n].over, question.layout) for n in NAMES if n != question.norm]
        else:
            others = [answer + 1, answer - 1, 2 * answer, 0]
        assert not any(is_right(question, other) for other in others), question


@pytest.mark.parametrize(
    ("kind", "answer"),
    [("name", "weight"), ("name", 3), ("name", None), ("axes", ()), ("axes", (0, 5)), ("axes", 7)],
)
def test_an_answer_that_is_no_name_or_axis_is_wrong(kind, answer):
    assert not is_right(Question(kind, (2, 3, 4), "NTC", "instance", 2), answer)

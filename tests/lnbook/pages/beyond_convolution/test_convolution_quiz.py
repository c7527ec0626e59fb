"""The quiz asks what it can check, and its check takes right answers and no others."""

import math

import pytest

from lnbook.pages.beyond_convolution.quiz import KINDS, NAMES, Question, ask, check, is_right
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


def test_the_questions_take_turns_and_all_sizes_of_a_shape_differ():
    assert [q.kind for q in MANY[:8]] == [*KINDS, *KINDS]
    assert {q.norm for q in MANY} == set(FIVE)
    for question in MANY:
        assert len(set(question.shape)) == len(question.shape)
        assert min(question.shape) > 1


@pytest.mark.parametrize(
    ("kind", "answer"),
    [("name", "weight"), ("name", 3), ("name", None), ("axes", ()), ("axes", (0, 5)), ("axes", 7)],
)
def test_an_answer_that_is_no_name_or_axis_is_wrong(kind, answer):
    assert not is_right(Question(kind, (2, 3, 4), "NTC", "instance", 2), answer)


def test_the_table_says_right_wrong_and_open():
    questions = [Question("axes", (2, 3, 4), "NTC", "channels", 2)] * 4  # axes count from either end
    assert [row[-1] for row in check(questions, [2, -1, (0, 1), None]).rows] == [
        "right",
        "right",
        "wrong",
        "open",
    ]
    with pytest.raises(ValueError, match="4 questions and 1 answers"):
        check(questions, [1])

"""The quiz asks what it can check, and its check takes right answers and no others."""

import pytest

from lnbook.pages.beyond_convolution.quiz import KINDS, NAMES, Question, ask, check, is_right
from lnbook.pages.beyond_convolution.reductions import FIVE, axes, means

MANY = ask(400, seed=3)


def known(question: Question) -> object:
    """The answer from the table of letters, which the check does not read."""
    sizes = dict(zip(question.layout, question.shape, strict=True))
    if question.kind == "name":
        return question.norm
    if question.kind == "axes":
        return axes(FIVE[question.norm].over, question.layout)
    if question.kind == "means":
        return means(question.norm, question.shape, question.layout, question.groups)
    values = 1
    for axis, size in sizes.items():
        values *= size if axis != "N" else 1
    return values if question.norm == "layer" else sizes["C"]


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


def test_the_questions_take_turns_and_reach_every_normalization_and_layout():
    assert [q.kind for q in MANY[:8]] == [*KINDS, *KINDS]
    assert {q.norm for q in MANY} == set(FIVE)
    assert {q.layout for q in MANY} == {"NCHW", "NHWC", "NTC", "NCT"}
    for question in MANY:
        assert len(set(question.shape)) == len(question.shape)
        assert min(question.shape) > 1
        assert str(question.shape) in str(question) or question.kind == "gains"


def test_a_seed_fixes_the_questions():
    assert ask(seed=1) == ask(seed=1) != ask(seed=2)


@pytest.mark.parametrize("answer", ["weight", "", 3, None])
def test_what_is_no_name_is_wrong(answer):
    assert not is_right(Question("name", (2, 3, 4), "NTC", "instance", 2), answer)


@pytest.mark.parametrize("answer", [(), (0, 5), (-4,), 7])
def test_axes_that_are_not_there_are_wrong(answer):
    assert not is_right(Question("axes", (2, 3, 4), "NTC", "instance", 2), answer)


def test_one_axis_may_be_a_number():
    assert is_right(Question("axes", (2, 3, 4), "NTC", "instance", 2), 1)
    assert is_right(Question("axes", (2, 3, 4), "NTC", "channels", 2), -1)


def test_the_table_says_right_wrong_and_open():
    questions = [Question("axes", (2, 3, 4), "NTC", "instance", 2)] * 3
    text = check(questions, [1, (0, 1), None]).to_markdown()
    assert [word in text for word in ("| right |", "| wrong |", "| open |")] == [True] * 3
    with pytest.raises(ValueError, match="3 questions and 1 answers"):
        check(questions, [1])

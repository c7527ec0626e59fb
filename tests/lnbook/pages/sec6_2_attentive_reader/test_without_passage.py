"""A reader of questions alone."""

import pytest

from lnbook.data.questions import Question
from lnbook.data.readings import encode
from lnbook.pages.sec6_2_attentive_reader.without_passage import chance


def test_the_best_guess_is_among_the_markers_that_are_not_named() -> None:
    passage = ("@entity0", "met", "@entity1", "and", "@entity2")
    queries = (("@placeholder", "left"), ("@placeholder", "met", "@entity1", "and", "@entity1"))
    questions = [Question(passage, query, "@entity0") for query in queries]
    readings = encode(questions, questions, 4, 9, {})
    assert chance(readings) == pytest.approx((1 / 4 + 1 / 3) / 2)

"""A reader of questions alone."""

import pytest

from lnbook.data.questions import Question
from lnbook.data.readings import encode, load_readings
from lnbook.pages.sec6_2_attentive_reader.experiment import EXPERIMENT
from lnbook.pages.sec6_2_attentive_reader.without_passage import accuracy, chance


def test_the_best_guess_is_among_the_markers_that_are_not_named() -> None:
    passage = ("@entity0", "met", "@entity1", "and", "@entity2")
    queries = (("@placeholder", "left"), ("@placeholder", "met", "@entity1", "and", "@entity1"))
    questions = [Question(passage, query, "@entity0") for query in queries]
    readings = encode(questions, questions, 4, 9, {})
    assert chance(readings) == pytest.approx((1 / 4 + 1 / 3) / 2)


def test_without_a_passage_a_trained_reader_is_right_as_often_as_a_guess() -> None:
    given = load_readings("stories", limit=100)
    job = EXPERIMENT.jobs("smoke", 0)[-1] | {"updates": 10, "rows": 1}
    found = accuracy(given, job, deals=20)
    # 2,000 answers, each right with a chance of at most 1/6: four standard deviations
    assert abs(found - chance(given)) < 4 * (5 / 36 / 2000) ** 0.5

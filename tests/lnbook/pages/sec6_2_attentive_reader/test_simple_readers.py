"""Readers that count."""

import pytest

from lnbook.data.questions import Question
from lnbook.data.stories import stories
from lnbook.pages.sec6_2_attentive_reader.simple_readers import SIMPLE, error


def answers(passage: str, query: str) -> list[str]:
    """What each reader answers, found by asking whether it is right."""
    tokens = [tuple(f"@entity{t}" if t.isdigit() else t for t in text.split()) for text in (passage, query)]
    asked = [Question(tokens[0], (*tokens[1], "@placeholder"), f"@entity{k}") for k in "123"]
    return ["".join(q.answer[-1] for q in asked if not error(pick, [q])) for pick in SIMPLE.values()]


def test_each_picks_among_the_entities_that_the_query_does_not_name_unless_there_is_no_other() -> None:
    assert answers("3 met 1 and 2 saw 1 . 2 left", "he met") == ["1", "3", "2"]
    assert answers("3 met 1 and 2 saw 1 . 2 left", "1 and 3 met") == ["2"] * 3
    assert answers("1 met 2", "1 saw 2")[2] == "2"


@pytest.mark.parametrize(("name", "right"), [("first", 5 / 8), ("most frequent", 5 / 8), ("last", 3 / 8)])
def test_in_stories_they_are_as_good_as_their_making_says(name: str, right: float) -> None:
    many = list(stories(4000, 11))
    # the first entity handed on the first of four things, each of the others with probability 1/2
    expected = 1 - 0.7 * right
    # 4 standard deviations of a share in 4000 questions
    assert abs(error(SIMPLE[name], many) - expected) < 4 * (expected * (1 - expected) / 4000) ** 0.5

"""Generated stories: their form, and that the ideal reader errs as often as the formula says, and no less."""

from collections import Counter

import pytest

from lnbook.data.questions import marker
from lnbook.data.stories import PEOPLE, UNANSWERABLE, floor, ideal, stories

MANY = 8000


def test_equal_seeds_give_equal_stories_and_others_do_not() -> None:
    assert list(stories(20, 1)) == list(stories(20, 1)) != list(stories(20, 2))


def test_a_story_has_four_sentences_and_two_people() -> None:
    for q in stories(200, 0):
        assert q.passage.count(".") == 4
        assert len({token for token in q.passage if token.startswith("@")}) == 2


def test_the_ideal_reader_errs_as_often_as_the_floor_says() -> None:
    wrong = sum(ideal(q) != q.answer for q in stories(MANY, 3)) / MANY
    assert floor() == pytest.approx(UNANSWERABLE * 3 / 4)
    assert abs(wrong - floor()) <= 4 * (floor() * (1 - floor()) / MANY) ** 0.5


def test_a_question_that_can_be_answered_is_and_the_others_hold_no_hint() -> None:
    hopeless = 0
    places: Counter[int] = Counter()
    for q in stories(MANY, 5):
        if q.query[3] in q.passage:
            assert ideal(q) == q.answer
            continue
        hopeless += 1
        assert q.answer not in q.passage
        unnamed = [k for k in range(PEOPLE) if marker(k) not in q.passage]
        places[[marker(k) for k in unnamed].index(q.answer)] += 1
    assert abs(hopeless / MANY - UNANSWERABLE) < 4 * (0.3 * 0.7 / MANY) ** 0.5
    # which of the four it is, is a fair draw: 4 standard deviations of a count
    assert all(abs(places[k] - hopeless / 4) < 4 * (hopeless * 3 / 16) ** 0.5 for k in range(4))


def test_other_simple_readers_stay_above_the_floor() -> None:
    def most_frequent(passage: tuple[str, ...]) -> str:
        return Counter(token for token in passage if token.startswith("@")).most_common(1)[0][0]

    wrong = sum(most_frequent(q.passage) != q.answer for q in stories(MANY, 7)) / MANY
    assert wrong > floor() + 0.3  # half of those that can be answered, and all others

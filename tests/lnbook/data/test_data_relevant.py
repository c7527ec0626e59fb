"""The most relevant sentences: the formula in loops, their order, and what is never looked at."""

from dataclasses import replace
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lnbook.data.questions import PLACEHOLDER, Question, split_sentences
from lnbook.data.relevant import most_relevant, rarity, relevance

WORDS = st.sampled_from(["a", "b", "c", "d", ".", "@entity1", "@entity2", PLACEHOLDER])
TEXTS = st.lists(WORDS, min_size=1, max_size=6)


def told(text: str, query: str, answer: str = "@entity1") -> Question:
    return Question(tuple(text.split()), tuple(query.split()), answer)


@given(st.lists(TEXTS, max_size=6), TEXTS, TEXTS)
def test_relevance_is_the_formula_word_by_word(
    queries: list[list[str]], sentence: list[str], query: list[str]
) -> None:
    expected = 0.0
    for word in sorted(set(query)):
        if word in sentence and word != PLACEHOLDER:
            having = 0
            for one in queries:
                having += word in one and not word.startswith("@entity")
            expected += log((1 + len(queries)) / (1 + having))
    # a sum of at most 7 numbers below 2, in another order
    assert relevance(sentence, query, rarity(queries)) == pytest.approx(expected, abs=1e-14)


@given(st.lists(TEXTS, max_size=6), st.lists(WORDS, min_size=1, max_size=40), TEXTS, st.integers(1, 5))
def test_no_sentence_left_out_is_worth_more_than_one_that_is_kept_and_order_stays(
    queries: list[list[str]], passage: list[str], query: list[str], count: int
) -> None:
    known = rarity(queries)
    sentences = split_sentences(passage)
    question = Question(tuple(passage), (PLACEHOLDER, *query), "@entity1")
    kept: list[int] = []
    while len(kept) < min(count, len(sentences)):  # the best of those that are left, the first of equals
        worth = {k: relevance(s, query, known) for k, s in enumerate(sentences) if k not in kept}
        kept.append(max(worth, key=lambda k: (worth[k], -k)))
    expected = tuple(token for k in sorted(kept) for token in sentences[k])
    assert most_relevant(question, known, count).passage == expected


def test_a_rare_word_outweighs_two_common_ones() -> None:
    question = told("the man . a lamp . the man . the man . the man .", "the man held a @placeholder lamp")
    known = rarity([*[["the", "man", "a"]] * 8, ["the", "a"]])
    assert " ".join(most_relevant(question, known, count=2).passage) == "the man . a lamp ."


def test_without_a_word_in_common_the_first_four_sentences_are_kept() -> None:
    question = told("a . b . c . d . e .", "@placeholder won")
    assert " ".join(most_relevant(question, rarity([])).passage) == "a . b . c . d ."


def test_the_answer_has_no_say_and_may_be_lost() -> None:
    question = told("@entity1 sat . @entity2 won . @entity1 left .", "@placeholder won", "@entity1")
    known = rarity([[]] * 9)
    found = most_relevant(question, known, count=1)
    assert found.passage == ("@entity2", "won", ".")
    assert found.answer == "@entity1" not in found.passage
    assert most_relevant(replace(question, answer="@entity2"), known, count=1).passage == found.passage


def test_the_number_of_an_entity_in_other_questions_means_nothing() -> None:
    often, never = (rarity([["won", name]] * 9) for name in ("@entity2", "@entity3"))
    assert often["@entity2"] == never["@entity2"] == log(10)
    assert often["won"] == 0
    question = told("she won . @entity2 sat .", "@placeholder beat @entity2 and won")
    assert most_relevant(question, often, count=1).passage == ("@entity2", "sat", ".")

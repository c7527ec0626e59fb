"""Questions: from books, generated, renumbered, and as tensors."""

import random
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.data import DataError, loaded
from lnbook.data import readings as module
from lnbook.data.books import Books
from lnbook.data.cloze import PEOPLE, UNANSWERABLE, cloze, floor, names, stories
from lnbook.data.questions import PLACEHOLDER, Question, marker, permute, renumber
from lnbook.data.readings import FIRST_MARKER, encode, load_readings

# ------------------------------------------------------------------------------- from books

BOOK = [
    "Emma met Jane Fairfax at Randalls.",
    "They sat.",
    '"Emma\'s late," said Jane.',
    "It rained.",
    "And so Emma, who knew Jane, left with Harriet.",
    "Nobody spoke to Jane or to Jane's aunt.",
]
NAMES = {"Emma", "Jane", "Harriet"}


def test_names_stand_inside_sentences_with_a_capital_and_are_no_common_words() -> None:
    book = ["He saw Emma, and may be Sir John, in April."] * 3 + ["In may, will Will go?", "a may b"]
    assert names(book, at_least=3) == {"Emma", "John"}
    assert names(book, at_least=4) == set()
    book = ["They met Rose there."] * 30
    assert names([*book, "a rose"]) == {"Rose"}
    assert names([*book, *["a rose"] * 4]) == set()


def test_a_name_of_passage_and_query_is_replaced_by_markers_and_the_placeholder() -> None:
    # of the whole book: Harriet is new, and Jane is there twice at the end
    emma, jane = sorted(cloze(BOOK, NAMES), key=lambda q: q.answer)
    assert " ".join(emma.passage) == (
        "@entity0 met @entity1 fairfax at randalls . they sat . "
        '" @entity0 \'s late , " said @entity1 . it rained .'
    )
    assert " ".join(emma.query) == "and so @placeholder , who knew @entity1 , left with @entity2 ."
    assert emma.names == {"@entity0": "Emma", "@entity1": "Jane", "@entity2": "Harriet"}
    assert (emma.answer, jane.answer) == ("@entity0", "@entity1")
    assert emma.passage == jane.passage


def test_long_passages_long_queries_and_crowds_make_no_question() -> None:
    assert not list(cloze(BOOK[:5], NAMES, markers=2))
    assert list(cloze([*BOOK[:4], BOOK[4] + " So" * 6], NAMES))
    assert not list(cloze([*BOOK[:4], BOOK[4] + " So" * 20], NAMES))
    assert not list(cloze([BOOK[0] + " So" * 60, *BOOK[1:]], NAMES))
    assert not list(cloze(BOOK, set()))


def test_a_name_is_found_whole_and_between_hyphens() -> None:
    book = ["Anna met Ann.", "They ate.", "Non-Ann left.", "Anna too.", "The Ann-like one -said-Anna- slept."]
    anna, ann = sorted(cloze(book, {"Ann", "Anna"}), key=lambda q: q.answer)
    assert (anna.names[anna.answer], ann.names[ann.answer]) == ("Anna", "Ann")
    assert " ".join(ann.query) == "the @placeholder - like one - said - @entity0 - slept ."
    assert ann.passage.count("@entity1") == 2


# ------------------------------------------------------------------------------- generated, and renumbered

MANY = 8000


def ideal(question: Question) -> str:
    """The answer of a reader who knows how the stories are made: nobody errs less."""
    thing = question.query[3]
    if thing in question.passage:
        return question.passage[question.passage.index(thing) - 3]
    return next(marker(k) for k in range(PEOPLE) if marker(k) not in question.passage)


def test_the_ideal_reader_errs_as_often_as_the_floor_says_and_nothing_hints_at_the_other_answers() -> None:
    assert list(stories(20, 1)) == list(stories(20, 1)) != list(stories(20, 2))
    told, places = list(stories(MANY, 3)), Counter[int]()
    assert all(q.passage.count(".") == 4 and len({t for t in q.passage if t[0] == "@"}) == 2 for q in told)
    wrong = sum(ideal(q) != q.answer for q in told) / MANY
    assert floor() == pytest.approx(UNANSWERABLE * 3 / 4)
    assert abs(wrong - floor()) <= 4 * (floor() * (1 - floor()) / MANY) ** 0.5
    for q in told:
        if q.query[3] in q.passage:
            assert ideal(q) == q.answer
        else:
            unnamed = [k for k in range(PEOPLE) if marker(k) not in q.passage]
            places[[marker(k) for k in unnamed].index(q.answer)] += 1
    hopeless = places.total()
    assert abs(hopeless / MANY - UNANSWERABLE) < 4 * (0.3 * 0.7 / MANY) ** 0.5
    # which of the four it is, is a fair draw: 4 standard deviations of a count
    assert all(abs(places[k] - hopeless / 4) < 4 * (hopeless * 3 / 16) ** 0.5 for k in range(4))


tokens = st.lists(
    st.one_of(st.sampled_from(["the", "ring", "."]), st.integers(0, 40).map(marker)), min_size=1, max_size=20
)


@given(tokens, tokens, st.integers(0, 2**32))
def test_a_renumbered_question_has_the_same_words_and_the_same_entities_meet(
    passage: list[str], query: list[str], seed: int
) -> None:
    old = Question(tuple(passage), (PLACEHOLDER, *query), marker(3), {marker(3): "Ann"})
    new = renumber(old, random.Random(seed), 42)
    whole = [(*q.passage, *q.query, q.answer) for q in (old, new)]
    assert [whole[0].index(t) for t in whole[0]] == [whole[1].index(t) for t in whole[1]]
    words = [[token for token in some if not token.startswith("@entity")] for some in whole]
    assert words[0] == words[1]
    assert new.names == {new.answer: "Ann"}


FIRST, MARKERS = 4, 6


@given(st.integers(0, 2**31), st.integers(1, 5), st.integers(1, 9))
def test_a_permutation_keeps_words_and_padding_and_answers_where_they_were(seed: int, N: int, T: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    passages, queries = (torch.randint(0, FIRST + MARKERS + 3, (N, T), generator=draw) for _ in range(2))
    answers = torch.randint(0, MARKERS, (N,), generator=draw)
    *found, new_a = permute(passages, queries, answers, first=FIRST, markers=MARKERS, generator=draw)
    old, new = torch.cat([passages, queries], 1), torch.cat(found, 1)
    is_marker = (old >= FIRST) & (old < FIRST + MARKERS)
    assert torch.equal(is_marker, (new >= FIRST) & (new < FIRST + MARKERS))
    assert torch.equal(old[~is_marker], new[~is_marker])
    assert torch.equal(old == answers[:, None] + FIRST, new == new_a[:, None] + FIRST)
    for row, other in zip(old, new, strict=True):  # equal before, equal after: no two entities are merged
        assert torch.equal(row[:, None] == row, other[:, None] == other)


def test_new_numbers_say_nothing_of_the_old_and_each_case_has_its_own() -> None:
    N, draw = 6000, random.Random(0)
    same = torch.full((N, 1), FIRST + 2)
    again = {"first": FIRST, "markers": MARKERS, "generator": torch.Generator().manual_seed(0)}
    permuted = permute(same, same, torch.full((N,), 2), **again)[2].tolist()
    q = Question((marker(7), "met", marker(9)), (PLACEHOLDER,), marker(7))
    renumbered = [int(renumber(q, draw, MARKERS).answer[-1]) for _ in range(N)]
    for found in (permuted, renumbered):  # 5 standard deviations of a count
        assert all(abs(found.count(k) - N / 6) < 5 * (N / 6 * 5 / 6) ** 0.5 for k in range(MARKERS))


# ------------------------------------------------------------------------------- as tensors


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two books in which two people meet; every fifth sentence can be asked about."""
    texts = [
        "".join(f"Then old {name} met poor Harriet{' again' * (k % 3)}.\n\nIt rained.\n\n" for k in range(60))
        for name in ("Emma", "Jane")
    ]
    books = Books(("One", "Two"), tuple(texts), {"name": "x", "source": "LNLIB_DATA"})
    monkeypatch.setattr(module, "load_books", lambda on_stand_in: books)
    load_readings.cache_clear()


def test_numbers_are_those_of_the_vocabulary_and_answers_count_from_zero() -> None:
    q = Question(("@entity1", "sold", "it", "."), ("@placeholder", "sold", "?"), "@entity1")
    short = Question(("@entity0", "sold", "."), ("@placeholder", "left"), "@entity0")
    found = encode([q], [short], markers=2, words=3, provenance={})
    passages, lengths, queries, query_lengths, answers = found.train
    assert found.vocabulary.words[3 : FIRST_MARKER + 2] == ("@placeholder", "@entity0", "@entity1")
    read = found.vocabulary.decode(passages[0].tolist())
    assert read == ["@entity1", "sold", "<unk>", "."]  # a tie: spelling
    assert lengths.tolist() == [4]
    assert (queries.tolist(), query_lengths.tolist()) == ([[3, *found.vocabulary.encode(["sold", "?"])]], [3])
    assert (answers.tolist(), found.valid[4].tolist(), found.longest) == ([1], [0], 4)


@pytest.mark.usefixtures("library")
def test_the_last_tenth_of_each_book_is_for_validation_and_a_limit_spreads_over_all() -> None:
    found = load_readings("gutenberg", markers=4)
    assert {q.source for q in found.questions} == {"One", "Two"}
    assert len(found.train[0]) > 5 * len(found.valid[0]) > 0
    assert {name for q in found.questions for name in q.names.values()} == {"Emma", "Jane", "Harriet"}
    assert int(found.train[4].max()) <= 3
    one = load_readings("gutenberg", markers=4, titles=("One",))
    assert {q.source for q in one.questions} == {"One"}
    few = load_readings("gutenberg", limit=4)
    assert len(few.train[0]) == len(few.valid[0]) == 4
    assert {q.source for q in few.questions} == {"One", "Two"}


@pytest.mark.usefixtures("nothing_there")
def test_without_books_the_stories_serve_and_damaged_ones_are_not_replaced(tmp_path: Path) -> None:
    load_readings.cache_clear()
    found = load_readings("gutenberg", limit=20)
    assert (found.provenance["name"], found.provenance["requested"]) == ("stories", "gutenberg")
    assert (found.markers, found.provenance["cases"]) == (6, 40)
    assert found.valid[1].tolist() == sorted(found.valid[1].tolist())
    (read,) = loaded()  # and not Python's help, which stands in for books elsewhere
    assert (read["name"], read["requested"]) == ("stories", "gutenberg")
    (tmp_path / "gutenberg").mkdir()
    (tmp_path / "gutenberg" / "gutenberg_books.tar.gz").write_bytes(b"no archive")
    load_readings.cache_clear()
    with pytest.raises(DataError, match="gutenberg_books"):
        load_readings("gutenberg")

"""Questions from books: what is a name, and what becomes a question."""

from lnbook.data.cloze import cloze, names
from lnbook.data.questions import PLACEHOLDER

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
    book = ["He saw Emma, and may be Sir John, in April."] * 3 + [
        "In may, will Will go?",
        "a may b",
        "May go.",
    ]
    assert names(book, at_least=3) == {"Emma", "John"}
    assert names(book, at_least=4) == set()


def test_a_word_that_is_seldom_without_a_capital_is_a_name() -> None:
    book = ["They met Rose there."] * 30
    assert names([*book, "a rose"]) == {"Rose"}
    assert names([*book, *["a rose"] * 4]) == set()


def test_a_name_of_passage_and_query_is_replaced_by_markers_and_the_placeholder() -> None:
    emma, jane = sorted(cloze(BOOK[:5], NAMES), key=lambda q: q.answer)
    assert " ".join(emma.passage) == (
        "@entity0 met @entity1 fairfax at randalls . they sat . "
        '" @entity0 \'s late , " said @entity1 . it rained .'
    )
    assert " ".join(emma.query) == "and so @placeholder , who knew @entity1 , left with @entity2 ."
    assert emma.names == {"@entity0": "Emma", "@entity1": "Jane", "@entity2": "Harriet"}
    assert (emma.answer, jane.answer) == ("@entity0", "@entity1")
    assert emma.passage == jane.passage


def test_no_question_asks_for_a_name_that_the_passage_lacks_or_the_query_repeats() -> None:
    answers = [q.names[q.answer] for q in cloze(BOOK, NAMES)]
    assert sorted(answers) == ["Emma", "Jane"]  # Harriet is new, and Jane is there twice at the end


def test_the_answer_is_nowhere_in_the_query() -> None:
    for q in cloze(BOOK, NAMES):
        assert q.answer not in q.query
        assert q.query.count(PLACEHOLDER) == 1
        assert q.answer in q.passage
        assert not set(q.names.values()) & set(q.passage)


def test_long_passages_long_queries_and_crowds_make_no_question() -> None:
    assert not list(cloze(BOOK[:5], NAMES, markers=2))
    assert list(cloze([*BOOK[:4], BOOK[4] + " So" * 6], NAMES))
    assert not list(cloze([*BOOK[:4], BOOK[4] + " So" * 20], NAMES))
    assert not list(cloze([BOOK[0] + " So" * 60, *BOOK[1:]], NAMES))


def test_a_book_without_names_gives_no_question() -> None:
    assert not list(cloze(BOOK, set()))


def test_a_longer_name_is_found_before_the_one_that_it_begins_with() -> None:
    book = ["Anna met Ann.", "They ate.", "Ann left.", "Anna too.", "Then Anna slept."]
    (q,) = cloze(book, {"Ann", "Anna"})
    assert q.names[q.answer] == "Anna"
    assert q.passage[:3] == ("@entity0", "met", "@entity1")


def test_a_name_between_hyphens_is_a_marker_of_its_own() -> None:
    book = ["Ann met Bob.", "They ate.", "Non-Ann left.", "Bob too.", "The Ann-like one -said-Bob- slept."]
    ann, bob = sorted(cloze(book, {"Ann", "Bob"}), key=lambda q: q.answer)
    assert " ".join(ann.query) == "the @placeholder - like one - said - @entity1 - slept ."
    assert " ".join(bob.query) == "the @entity0 - like one - said - @placeholder - slept ."
    assert ann.passage.count("@entity0") == 2

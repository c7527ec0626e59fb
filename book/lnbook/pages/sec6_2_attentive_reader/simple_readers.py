"""Readers without a network: what can be answered by counting alone."""

from collections import Counter
from collections.abc import Callable, Sequence

from lnbook.data.questions import Question

__all__ = ["SIMPLE", "error", "first", "last", "most_frequent"]


def _markers(question: Question) -> list[str]:
    """Entities of the passage where they stand, without those that the query names, if any are left."""
    found = [token for token in question.passage if token.startswith("@entity")]
    return [token for token in found if token not in question.query] or found


def most_frequent(question: Question) -> str:
    """The entity that the passage names most often and the query does not; of several the first.

    >>> most_frequent(Question(("@entity1", "@entity2", "@entity2"), ("@placeholder",), "@entity1"))
    '@entity2'
    """
    return Counter(_markers(question)).most_common(1)[0][0]


def first(question: Question) -> str:
    """The first entity of the passage that the query does not name."""
    return _markers(question)[0]


def last(question: Question) -> str:
    """The last entity of the passage that the query does not name."""
    return _markers(question)[-1]


SIMPLE: dict[str, Callable[[Question], str]] = {
    "most frequent": most_frequent,
    "first": first,
    "last": last,
}


def error(reader: Callable[[Question], str], questions: Sequence[Question]) -> float:
    """The share of questions that a reader answers wrong.

    >>> error(last, [Question(("@entity1", "@entity2"), ("@placeholder",), "@entity1")])
    1.0
    """
    return sum(reader(q) != q.answer for q in questions) / len(questions)

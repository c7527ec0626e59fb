"""Readers without a network: what can be answered by counting alone."""

from collections import Counter
from collections.abc import Callable, Sequence

from lnbook.data.questions import Question

SIMPLE: dict[str, Callable[[list[str]], str]] = {  # of the candidates as they stand in the passage
    "most frequent": lambda names: Counter(names).most_common(1)[0][0],  # of several the first
    "first": lambda names: names[0],
    "last": lambda names: names[-1],
}


def error(pick: Callable[[list[str]], str], questions: Sequence[Question]) -> float:
    """The share of questions that a reader answers wrong.

    It picks among the entities of the passage that the query does not name; among all if it names all.

    >>> error(SIMPLE["last"], [Question(("@entity1", "@entity2"), ("@placeholder",), "@entity1")])
    1.0
    """
    wrong = 0
    for question in questions:
        found = [token for token in question.passage if token.startswith("@entity")]
        left = [token for token in found if token not in question.query]
        wrong += pick(left or found) != question.answer
    return wrong / len(questions)

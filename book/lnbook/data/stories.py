r"""Generated stories whose best possible error is known: the stand-in for news with entities.

A story is four sentences in which two of six people hand things to each other. A question asks who handed on
a thing. A share of the questions ask for a thing that the story does not mention, and their answer is one of
the people whom it does not mention, any of them with equal probability: as in the paper's data, where four
sentences of a longer text often do not hold the answer. So no reader errs less often than

$$\text{floor} = \text{share}\left(1 - \frac1{\text{people not mentioned}}\right).$$
"""

import random
from collections.abc import Iterator

from .questions import PLACEHOLDER, Question, marker

PEOPLE, MENTIONED = 6, 2
SENTENCES = 4
UNANSWERABLE = 0.3
_VERBS = ("sold", "gave", "lent", "sent", "showed", "brought")
_THINGS = ("lamp", "book", "ring", "map", "coat", "key", "cup", "knife")
_WHEN = ("", "", "at noon", "without a word")


def stories(count: int, seed: int = 0) -> Iterator[Question]:
    """So many questions about stories, equal for equal seeds."""
    draw = random.Random(seed)
    for _ in range(count):
        numbers = draw.sample(range(PEOPLE), PEOPLE)
        people, absent = numbers[:MENTIONED], numbers[MENTIONED:]
        *things, other = draw.sample(_THINGS, SENTENCES + 1)
        told = [(draw.sample(people, 2), thing, draw.choice(_VERBS)) for thing in things]
        passage: list[str] = []
        for (giver, taker), thing, verb in told:
            end = draw.choice(_WHEN).split()
            passage += [marker(giver), verb, "the", thing, "to", marker(taker), *end, "."]
        (giver, _), thing, verb = draw.choice(told)
        if draw.random() < UNANSWERABLE:
            giver, thing = draw.choice(absent), other
        query = (PLACEHOLDER, verb, "the", thing, ".")
        yield Question(tuple(passage), query, marker(giver), source="a generated story")


def floor() -> float:
    """The error of the best possible reader.

    >>> round(floor(), 3)
    0.225
    """
    return UNANSWERABLE * (1 - 1 / (PEOPLE - MENTIONED))

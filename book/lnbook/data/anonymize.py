"""Entities under numbers drawn anew for each question, so that knowing the world does not help.

*Source* Section 6.2: "The data is anonymized such that entities are given randomized tokens ... which are
consistently permuted during training and evaluation." Consistently: the same number for an entity wherever
it stands in one question.
"""

import random

import torch
from jaxtyping import Int64
from torch import Tensor

from .questions import Question, marker


def renumber(question: Question, draw: random.Random, markers: int) -> Question:
    """The same question, its entities numbered at random among so many markers, at least as many."""
    numbers = draw.sample(range(markers), len(question.entities))
    new = {old: marker(number) for old, number in zip(question.entities, numbers, strict=True)}
    return Question(
        tuple(new.get(token, token) for token in question.passage),
        tuple(new.get(token, token) for token in question.query),
        new[question.answer],
        {new[old]: name for old, name in question.names.items() if old in new},
        question.source,
    )


def permute(
    passages: Int64[Tensor, "N T"],
    queries: Int64[Tensor, "N S"],
    answers: Int64[Tensor, " N"],
    *,
    first: int,
    markers: int,
    generator: torch.Generator,
) -> tuple[Int64[Tensor, "N T"], Int64[Tensor, "N S"], Int64[Tensor, " N"]]:
    """A new random numbering of the markers in each case: of a batch, at every update.

    Of the words' numbers, `first`, `first` + 1, ... are the markers; `answers` count these from 0.
    """
    order = torch.rand(len(answers), markers, generator=generator).argsort(1).to(answers.device)

    def renumbered(ids: Tensor) -> Tensor:
        of_marker = (ids - first).clamp(0, markers - 1)
        is_marker = (ids >= first) & (ids < first + markers)
        return torch.where(is_marker, order.gather(1, of_marker) + first, ids)

    return renumbered(passages), renumbered(queries), order.gather(1, answers[:, None])[:, 0]

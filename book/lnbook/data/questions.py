"""Questions about a passage, each answered by an entity, whose numbers are drawn anew for each question.

*Source* Section 6.2: "The data is anonymized such that entities are given randomized tokens ... which are
consistently permuted during training and evaluation." Consistently: the same number for an entity wherever
it stands in one question. So knowing the world does not help.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import torch
from jaxtyping import Int64
from torch import Tensor

PLACEHOLDER = "@placeholder"


def marker(number: int) -> str:
    """The token of an entity, as `@entity3`."""
    return f"@entity{number}"


def is_marker(token: str) -> bool:
    """Whether a token stands for an entity."""
    return token.startswith("@entity")


@dataclass(frozen=True)
class Question:
    """A passage, a question about it, and its answer."""

    passage: tuple[str, ...]  # tokens; entities are markers
    query: tuple[str, ...]  # as well; `@placeholder` stands for the answer
    answer: str  # a marker
    names: Mapping[str, str] = field(default_factory=dict)  # of the markers, if known; no model sees them
    source: str = ""  # where it comes from

    @property
    def entities(self) -> tuple[str, ...]:
        """The markers in passage, query and answer, in the order of their first use."""
        tokens = (*self.passage, *self.query, self.answer)
        return tuple(dict.fromkeys(token for token in tokens if is_marker(token)))


def renumber(question: Question, draw: random.Random, markers: int) -> Question:
    """The same question, its entities numbered at random among so many markers, at least as many."""
    numbers = draw.sample(range(markers), len(question.entities))
    new = {old: marker(number) for old, number in zip(question.entities, numbers, strict=True)}
    passage, query = (tuple(new.get(t, t) for t in part) for part in (question.passage, question.query))
    names = {new[old]: name for old, name in question.names.items() if old in new}
    return replace(question, passage=passage, query=query, answer=new[question.answer], names=names)


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

"""Questions as tensors for a reader: word numbers, lengths and answers, for training and validation."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from .books import load_books, sentences
from .cloze import PEOPLE, cloze, load_cnn, names, stories
from .questions import PLACEHOLDER, Question, marker, renumber
from .sources import DataError, Provenance, find, published
from .text import Vocabulary, pad

FIRST_MARKER = 4  # after padding, unknown words, ends of sentences and the placeholder
# passages (N, T), lengths, queries (N, S), lengths, and answers as numbers of markers from 0; padded with 0
Cases = tuple[Tensor, ...]
Questions = Sequence[Question]
Found = tuple[list[Question], list[Question], Provenance]


@dataclass(frozen=True)
class Readings:
    """Questions for training and validation."""

    train: Cases
    valid: Cases  # sorted by the length of the passages
    vocabulary: Vocabulary  # of both; number `FIRST_MARKER` + k is the k-th marker
    markers: int  # how many entities a question can have
    questions: tuple[Question, ...]  # those of `valid`, as text
    provenance: Provenance

    @property
    def longest(self) -> int:
        """Steps of the longest passage or query."""
        return max(part[k].shape[1] for part in (self.train, self.valid) for k in (0, 2))


@lru_cache(maxsize=4)
def load_readings(
    name: str,
    *,
    markers: int = 10,  # a question with more entities is left out; stories have 6
    words: int = 1000,  # of the training questions, the most frequent ones: the vocabulary
    titles: tuple[str, ...] | None = None,  # of the books to read; None: all
    limit: int | None = None,  # the most questions in each part, evenly spread
) -> Readings:
    """The questions "gutenberg" (from books; without them, stories), "stories" (generated) or "cnn"."""
    if name == "gutenberg":
        train, valid, provenance = _books(markers, titles)
    else:
        train, valid, provenance = {"cnn": load_cnn, "stories": _stories}[name]()
    if provenance["name"] == "stories":
        markers = PEOPLE
    draw, kept = random.Random(0), []
    for part in (train, valid):
        count = min(limit or len(part), len(part))
        few = [part[k * len(part) // count] for k in range(count)]
        kept.append([renumber(q, draw, markers) for q in few if len(q.entities) <= markers])
    kept[1].sort(key=lambda q: len(q.passage))
    return encode(kept[0], kept[1], markers, words, provenance | {"cases": sum(map(len, kept))})


def encode(train: Questions, valid: Questions, markers: int, words: int, provenance: Provenance) -> Readings:
    """Questions as tensors, with a vocabulary made from those for training."""
    texts = ([token for token in (*q.passage, *q.query) if token[0] != "@"] for q in train)
    frequent = Vocabulary.build(texts, words).words[3:]
    vocabulary = Vocabulary([PLACEHOLDER, *map(marker, range(markers)), *frequent])
    cases: list[Cases] = []
    for questions in (train, valid):
        passages = pad([vocabulary.encode(q.passage) for q in questions])
        queries = pad([vocabulary.encode(q.query) for q in questions])
        answers = torch.tensor([vocabulary.number[q.answer] - FIRST_MARKER for q in questions])
        cases.append((*passages, *queries, answers))
    return Readings(cases[0], cases[1], vocabulary, markers, tuple(valid), provenance)


def _stories(requested: str = "stories") -> Found:
    _, provenance = published("stories")
    provenance["requested"] = requested  # also in what `lnbook.data.loaded` gives
    return list(stories(6000, seed=0)), list(stories(1000, seed=1)), provenance


def _books(markers: int, titles: tuple[str, ...] | None) -> Found:
    """The last tenth of each book is for validation: no training passage reaches into it."""
    try:
        books = load_books("error")
    except DataError:
        if find("gutenberg") != "absent":  # the books are there, but damaged
            raise
        return _stories("gutenberg")
    train, valid = list[Question](), list[Question]()
    for title, text in zip(books.titles, books.texts, strict=True):
        if titles is None or title in titles:
            told = sentences(text)
            known, split = names(told), len(told) - len(told) // 10
            train += cloze(told[:split], known, markers, title)
            valid += cloze(told[split:], known, markers, title)
    return train, valid, books.provenance

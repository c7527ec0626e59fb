"""Questions as tensors for a reader: word numbers, lengths and answers, for training and validation."""

import random
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from .anonymize import renumber
from .books import load_books, sentences
from .cloze import cloze, names
from .questions import PLACEHOLDER, Question, marker, read_questions
from .relevant import most_relevant, rarity
from .sources import DataError, OnStandIn, StandInWarning, find, published
from .stories import PEOPLE, stories
from .text import Vocabulary, pad
from .users import users_own

FIRST_MARKER = 4  # after padding, unknown words, ends of sentences and the placeholder
Cases = tuple[Tensor, ...]


@dataclass(frozen=True)
class Readings:
    """Questions for training and validation.

    `train` and `valid` are passages (N, T), their lengths, queries (N, S), their lengths, and answers as
    numbers of markers from 0. Padded with 0; `valid` is sorted by the length of the passages.
    """

    train: Cases
    valid: Cases
    vocabulary: Vocabulary  # of both; number `FIRST_MARKER` + k is the k-th marker
    markers: int  # how many entities a question can have
    questions: tuple[Question, ...]  # those of `valid`, as text
    provenance: dict[str, Any]

    @property
    def longest(self) -> int:
        """Steps of the longest passage or query."""
        return max(part[k].shape[1] for part in (self.train, self.valid) for k in (0, 2))


@lru_cache(maxsize=4)
def load_readings(
    name: str,
    *,
    markers: int = 10,
    words: int = 1000,
    titles: tuple[str, ...] | None = None,
    limit: int | None = None,
    on_stand_in: OnStandIn = "warn",
) -> Readings:
    """The questions of a data set.

    Args:
        name: "gutenberg" (cloze questions from books), "stories" (generated), or "cnn": the `.question`
            files in $LNLIB_DATA/cnn/questions/training and /validation, and of each passage the four
            sentences most relevant to the query (`lnbook.data.relevant`); some then lack the answer.
        markers: a question with more entities is left out; stories have 6.
        words: size of the vocabulary: the most frequent words of the training questions.
        titles: of the books to read; default: all.
        limit: the most questions in each part, evenly spread.
        on_stand_in: as in `lnbook.data.published`; the stories stand in if there are no books.

    Raises `DataError` for files that are missing or damaged, and for a refused stand-in.
    """
    if name == "gutenberg":
        train, valid, provenance = _books(markers, titles, on_stand_in)
    else:
        train, valid, provenance = {"cnn": _cnn, "stories": _stories}[name]()
    if provenance["name"] == "stories":
        markers = PEOPLE
    draw = random.Random(0)
    kept = [
        [renumber(q, draw, markers) for q in _spread(part, limit) if len(q.entities) <= markers]
        for part in (train, valid)
    ]
    kept[1].sort(key=lambda q: len(q.passage))
    return encode(kept[0], kept[1], markers, words, provenance | {"cases": sum(map(len, kept))})


def encode(
    train: Sequence[Question],
    valid: Sequence[Question],
    markers: int,
    words: int,
    provenance: dict[str, Any],
) -> Readings:
    """Questions as tensors, with a vocabulary made from those for training."""
    texts = ([token for token in (*q.passage, *q.query) if token[0] != "@"] for q in train)
    frequent = Vocabulary.build(texts, words).words[3:]
    vocabulary = Vocabulary([PLACEHOLDER, *map(marker, range(markers)), *frequent])
    cases = to_cases(train, vocabulary), to_cases(valid, vocabulary)
    return Readings(*cases, vocabulary, markers, tuple(valid), provenance)


def to_cases(questions: Sequence[Question], vocabulary: Vocabulary) -> Cases:
    """Passages, lengths, queries, lengths and answers, as `Readings` holds them."""
    passages, queries = (
        pad([vocabulary.encode(getattr(q, part)) for q in questions]) for part in ("passage", "query")
    )
    answers = torch.tensor([vocabulary.number[q.answer] - FIRST_MARKER for q in questions])
    return (*passages, *queries, answers)


def _spread(questions: Sequence[Question], limit: int | None) -> Sequence[Question]:
    if limit is None or len(questions) <= limit:
        return questions
    return [questions[k * len(questions) // limit] for k in range(limit)]


Found = tuple[list[Question], list[Question], dict[str, Any]]


def _stories(requested: str = "stories") -> Found:
    provenance = published("stories").provenance
    provenance["requested"] = requested  # also in what `lnbook.data.loaded` gives
    return list(stories(6000, seed=0)), list(stories(1000, seed=1)), provenance


def _books(markers: int, titles: tuple[str, ...] | None, on_stand_in: OnStandIn) -> Found:
    """The last tenth of each book is for validation: no training passage reaches into it."""
    try:
        books = load_books("error")
    except DataError as error:
        if on_stand_in == "error" or find("gutenberg") != "absent":  # the books are there, but damaged
            raise
        if on_stand_in == "warn":
            warnings.warn(f"{error} In their place: generated stories.", StandInWarning, stacklevel=3)
        return _stories("gutenberg")
    train: list[Question] = []
    valid: list[Question] = []
    for title, text in zip(books.titles, books.texts, strict=True):
        if titles is None or title in titles:
            told = sentences(text)
            known, split = names(told), len(told) - len(told) // 10
            train += cloze(told[:split], known, markers, title)
            valid += cloze(told[split:], known, markers, title)
    return train, valid, books.provenance


def _cnn() -> Found:
    remedy = (
        "CNN's news may not be redistributed: unpack the DeepMind Q&A data (cnn.tgz) so that "
        "$LNLIB_DATA/cnn/questions/training and /validation hold .question files."
    )
    folders = [users_own("cnn", remedy) / "questions" / part for part in ("training", "validation")]
    known = rarity(question.query for question in read_questions(folders[0]))
    train, valid = ([most_relevant(q, known) for q in read_questions(folder)] for folder in folders)
    provenance = {"name": "cnn", "requested": "cnn", "source": "LNLIB_DATA", "licence": "CNN's copyright"}
    citation = "Hermann et al.: Teaching machines to read and comprehend, NIPS (2015)"
    return train, valid, provenance | {"citation": citation}

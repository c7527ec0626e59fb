"""Questions about a passage, each answered by an entity, and the files that hold CNN's.

A `.question` file of Hermann and others (2015) has five parts, separated by empty lines: an address, the
passage, the question with `@placeholder` in place of a name, the name's marker, and a list of all markers
with the names that they stand for. Passage and question are tokens, separated by blanks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path

from .datasets import DataError
from .users import read_text

__all__ = [
    "PLACEHOLDER",
    "Question",
    "first_sentences",
    "is_marker",
    "marker",
    "parse_question",
    "read_questions",
    "split_sentences",
]

PLACEHOLDER = "@placeholder"
_MARKER = re.compile(r"@entity\d+")
_QUOTES = ("''", '"', "'", "”")


def marker(number: int) -> str:
    """The token of an entity.

    >>> marker(3)
    '@entity3'
    """
    return f"@entity{number}"


def is_marker(token: str) -> bool:
    """Whether a token stands for an entity.

    >>> is_marker("@entity3"), is_marker(PLACEHOLDER)
    (True, False)
    """
    return _MARKER.fullmatch(token) is not None


@dataclass(frozen=True)
class Question:
    """A passage, a question about it, and its answer.

    Args:
        passage, query: tokens; entities are markers, and `@placeholder` stands for the answer.
        answer: a marker.
        names: what the markers stand for, if known; a model never sees it.
        source: where it comes from.
        ends: where the passage's sentences end, each as the number of tokens up to there, if known.

    Raises `DataError` if the query has no placeholder, the answer is not a marker, there is no passage, or
    the ends do not rise to its length.
    """

    passage: tuple[str, ...]
    query: tuple[str, ...]
    answer: str
    names: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    ends: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if PLACEHOLDER not in self.query:
            raise DataError(f"{self.source}: the question {' '.join(self.query)!r} has no {PLACEHOLDER}.")
        if not is_marker(self.answer):
            raise DataError(f"{self.source}: the answer is {self.answer!r}, not a marker such as @entity3.")
        if not self.passage:
            raise DataError(f"{self.source}: the passage is empty.")
        rising = all(start < end for start, end in pairwise((0, *self.ends)))
        if self.ends and not (rising and self.ends[-1] == len(self.passage)):
            raise DataError(
                f"{self.source}: sentences end after {self.ends} of {len(self.passage)} tokens; these "
                f"numbers must rise, from at least 1 to the length of the passage."
            )

    @property
    def sentences(self) -> list[tuple[str, ...]]:
        """The passage as sentences: by `ends` if known, else by `split_sentences`.

        >>> passage, query = ("mr", ".", "@entity1", "left", ".", "rain"), ("@placeholder",)
        >>> Question(passage, query, "@entity1", ends=(5, 6)).sentences
        [('mr', '.', '@entity1', 'left', '.'), ('rain',)]
        """
        if not self.ends:
            return split_sentences(self.passage)
        return [self.passage[start:end] for start, end in pairwise((0, *self.ends))]

    @property
    def entities(self) -> tuple[str, ...]:
        """The markers in passage, query and answer, in the order of their first use."""
        tokens = (*self.passage, *self.query, self.answer)
        return tuple(dict.fromkeys(token for token in tokens if is_marker(token)))


def parse_question(text: str, where: str = "question") -> Question:
    r"""The question in a `.question` file.

    Args:
        text: the content of the file.
        where: its name, for messages.

    Raises `DataError` if the parts, the placeholder, the markers or their list are not as they must be.

    >>> q = parse_question("http://x\n\n@entity1 met @entity0 .\n\nwho met @placeholder\n\n@entity0\n\n"
    ...                    "@entity0:Ann\n@entity1:Bob")
    >>> q.answer, q.names["@entity1"], q.entities
    ('@entity0', 'Bob', ('@entity1', '@entity0'))
    """
    parts = re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").strip())
    if len(parts) != 5:
        raise DataError(
            f"{where} has {len(parts)} parts separated by empty lines; a question has 5: address, "
            f"passage, question, answer, entities."
        )
    address, passage, query, answer, listing = (part.strip() for part in parts)
    names: dict[str, str] = {}
    for line in listing.splitlines():
        token, colon, name = line.strip().partition(":")
        if not colon or not is_marker(token) or token in names:
            raise DataError(
                f"{where}: {line!r} in the list of entities is not a new '@entity<number>:<name>'."
            )
        names[token] = name
    found = Question(tuple(passage.split()), tuple(query.split()), answer, names, where)
    if missing := [entity for entity in found.entities if entity not in names]:
        raise DataError(f"{where}: the list of entities lacks {', '.join(missing)}.")
    return Question(found.passage, found.query, answer, names, address)


def split_sentences(tokens: Sequence[str]) -> list[tuple[str, ...]]:
    """The sentences of a text: each ends with ".", "?" or "!", and the quotation marks after it.

    >>> split_sentences("a b . c ! '' d".split())
    [('a', 'b', '.'), ('c', '!', "''"), ('d',)]
    """
    found: list[list[str]] = []
    closed = True
    for token in tokens:
        if closed and not (found and token in _QUOTES):
            found.append([])
            closed = False
        found[-1].append(token)
        closed = closed or token in (".", "?", "!")
    return [tuple(sentence) for sentence in found]


def first_sentences(tokens: Sequence[str], count: int) -> tuple[str, ...]:
    """The first `count` sentences of a passage, as `split_sentences` finds them.

    *Source* Section 6.2: "each passage is limited to 4 sentences".

    >>> first_sentences("a b . c ! '' d .".split(), 2)
    ('a', 'b', '.', 'c', '!', "''")
    """
    return tuple(token for sentence in split_sentences(tokens)[:count] for token in sentence)


def read_questions(
    folder: Path, *, sentences: int | None = None, limit: int | None = None
) -> Iterator[Question]:
    """The questions in a folder, in the order of their file names.

    Args:
        folder: holds `*.question` files.
        sentences: how many of each passage to keep; default: all.
        limit: how many questions to read; default: all.

    Raises `DataError` if there are none, or if one is not as it must be.
    """
    paths = sorted(folder.glob("*.question"))
    if not paths:
        raise DataError(
            f"{folder} holds no *.question file; give a folder of the DeepMind Q&A data, such as "
            f"cnn/questions/training."
        )
    for path in islice(paths, limit):
        found = parse_question(read_text(path), str(path))
        if sentences is not None:
            kept = first_sentences(found.passage, sentences)
            found = Question(kept, found.query, found.answer, found.names, found.source)
        yield found

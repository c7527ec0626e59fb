"""Questions about a passage, each answered by an entity, and the files that hold CNN's.

A `.question` file of Hermann and others (2015) has five parts, separated by empty lines: an address, the
passage, the question with `@placeholder` in place of a name, the name's marker, and a list of all markers
with the names that they stand for. Passage and question are tokens, separated by blanks.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .datasets import DataError
from .users import read_text

__all__ = [
    "PLACEHOLDER",
    "Question",
    "is_marker",
    "marker",
    "parse_question",
    "read_questions",
    "split_sentences",
]

PLACEHOLDER = "@placeholder"
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
    return token.startswith("@entity")


@dataclass(frozen=True)
class Question:
    """A passage, a question about it, and its answer.

    Args:
        passage, query: tokens; entities are markers, and `@placeholder` stands for the answer.
        answer: a marker.
        names: what the markers stand for, if known; a model never sees it.
        source: where it comes from.
    """

    passage: tuple[str, ...]
    query: tuple[str, ...]
    answer: str
    names: Mapping[str, str] = field(default_factory=dict)
    source: str = ""

    @property
    def entities(self) -> tuple[str, ...]:
        """The markers in passage, query and answer, in the order of their first use."""
        tokens = (*self.passage, *self.query, self.answer)
        return tuple(dict.fromkeys(token for token in tokens if is_marker(token)))


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


def parse_question(text: str, where: str = "question") -> Question:
    r"""The question in the text of a `.question` file called `where`.

    Raises `DataError` if the parts, the placeholder, or the list of markers are not as they must be.

    >>> q = parse_question("http://x\n\n@entity1 met @entity0 .\n\nwho met @placeholder\n\n@entity0\n\n"
    ...                    "@entity0:Ann\n@entity1:Bob")
    >>> q.answer, q.names["@entity1"], q.entities
    ('@entity0', 'Bob', ('@entity1', '@entity0'))
    """
    parts = text.strip().split("\n\n")
    if len(parts) != 5:
        raise DataError(
            f"{where} has {len(parts)} parts separated by empty lines; a question has 5: address, "
            f"passage, question, answer, entities."
        )
    address, passage, query, answer, listing = (part.strip() for part in parts)
    pairs = (line.partition(":") for line in listing.splitlines())
    names = {token: name for token, _, name in pairs}
    found = Question(tuple(passage.split()), tuple(query.split()), answer, names, address)
    if PLACEHOLDER not in found.query or not {answer, *found.entities} <= names.keys():
        raise DataError(
            f"{where}: the question must have {PLACEHOLDER}, and the list of entities the answer and all "
            f"markers of passage and question; get the file again."
        )
    return found


def read_questions(folder: Path) -> Iterator[Question]:
    """The questions in the `*.question` files of a folder, in the order of their names.

    Raises `DataError` if there are none, or if one is not as it must be.
    """
    paths = sorted(folder.glob("*.question"))
    if not paths:
        raise DataError(
            f"{folder} holds no *.question file; give a folder of the DeepMind Q&A data, such as "
            f"cnn/questions/training."
        )
    for path in paths:
        yield parse_question(read_text(path), str(path))

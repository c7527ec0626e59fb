"""Questions about a passage, each answered by an entity, and the files that hold CNN's.

A `.question` file of Hermann and others (2015) has five parts, separated by empty lines: an address, the
passage, the question with `@placeholder` in place of a name, the name's marker, and a list of all markers
with the names that they stand for. Passage and question are tokens, separated by blanks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .sources import DataError
from .users import reading

PLACEHOLDER = "@placeholder"


def marker(number: int) -> str:
    """The token of an entity, as `@entity3`."""
    return f"@entity{number}"


def is_marker(token: str) -> bool:
    """Whether a token stands for an entity."""
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


def parse_question(text: str) -> Question:
    r"""The question in the text of a `.question` file; raises ValueError if it is none.

    >>> q = parse_question("http://x\n\n@entity1 met @entity0 .\n\nwho met @placeholder\n\n@entity0\n\n"
    ...                    "@entity0:Ann\n@entity1:Bob: the first")
    >>> q.answer, q.names["@entity1"], q.entities
    ('@entity0', 'Bob: the first', ('@entity1', '@entity0'))
    """
    address, passage, query, answer, listing = (part.strip() for part in text.strip().split("\n\n"))
    names = {token: name for token, _, name in (line.partition(":") for line in listing.splitlines())}
    found = Question(tuple(passage.split()), tuple(query.split()), answer, names, address)
    if PLACEHOLDER not in found.query or not is_marker(answer):
        raise ValueError(f"its question has no {PLACEHOLDER}, or its answer is no entity")
    return found


def read_questions(folder: Path) -> Iterator[Question]:
    """The questions in the `*.question` files of a folder, in the order of their names.

    Raises `DataError` if there are none, or if one is not as it must be.
    """
    paths = sorted(folder.glob("*.question"))
    if not paths:
        raise DataError(f"{folder} holds no *.question file of the DeepMind Q&A data; get them again.")
    for path in paths:
        with reading(path):
            found = parse_question(path.read_text("utf-8"))
        yield found

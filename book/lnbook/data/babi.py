"""The tasks of bAbI (Weston and others, 2015) as questions about passages.

A line is a number and a sentence, or a number, a question, its answer and the numbers of the sentences that
it follows from, with tabs between; the numbers begin anew with each story. Answers are words of a small
set: here those words become entities, so that the attentive reader can read these stories, too.
"""

import io
import re
import tarfile

from lnbook.data.text import tokenize

from .dataset import DataError
from .files import content
from .lookup import OnStandIn, published
from .questions import PLACEHOLDER, Question, marker

__all__ = ["load_babi", "parse_babi"]

_LINE = re.compile(r"(\d+) ([^\t]+?)(?:\t([^\t]+)\t([\d ]+))?")


def load_babi(task: int, part: str, on_stand_in: OnStandIn = "error") -> list[Question]:
    """The questions of one task, 1 to 20; `part` is "train" or "test".

    Raises `DataError` where bAbI is not available; `lnbook.data.stories` are other questions of this kind.
    """
    files, _ = published("babi", on_stand_in=on_stand_in)
    wanted = re.compile(rf"(?:^|/)en/qa{task}_[\w-]+_{part}\.txt$")
    for path in files.values():
        with tarfile.open(fileobj=io.BytesIO(content(path)), mode="r:") as archive:
            for member in archive:
                stream = archive.extractfile(member) if wanted.search(member.name) else None
                if stream is not None:
                    return parse_babi(stream.read().decode("utf-8"), member.name)
    raise DataError(f"bAbI has no task {task} with a part {part!r}; tasks are 1 to 20, parts train and test.")


def parse_babi(text: str, where: str = "bAbI") -> list[Question]:
    r"""The questions of one file, each with its story so far.

    Raises `DataError` for a line that is none of bAbI's, or a question before any sentence.

    >>> (q,) = parse_babi("1 Mary went to the hall.\n2 Where is Mary?\thall\t1\n")
    >>> " ".join(q.passage), " ".join(q.query), q.names[q.answer]
    ('mary went to the @entity0 .', 'where is mary ? @placeholder', 'hall')
    """
    asked: list[tuple[tuple[str, ...], list[str], str]] = []
    story: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        found = _LINE.fullmatch(line.rstrip())
        if not found:
            raise DataError(f"{where}, line {number}: {line!r} is neither a sentence nor a question of bAbI.")
        story = () if found[1] == "1" else story
        if found[3] is None:
            story += tuple(tokenize(found[2]))
        elif not story:
            raise DataError(f"{where}, line {number}: a question before any sentence of its story.")
        else:
            asked.append((story, tokenize(found[2]), found[3].lower()))
    words = {word: marker(k) for k, word in enumerate(sorted({answer for _, _, answer in asked}))}
    by_marker = {token: word for word, token in words.items()}
    return [
        Question(
            tuple(words.get(token, token) for token in passage),
            (*(words.get(token, token) for token in query), PLACEHOLDER),
            words[answer],
            by_marker,
            where,
        )
        for passage, query, answer in asked
    ]

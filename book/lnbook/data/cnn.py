r"""CNN's questions from a user's folder, each passage cut to the sentences most relevant to its query.

The news may not be redistributed: unpack the DeepMind Q&A data, so that `$LNLIB_DATA/cnn/questions/` has
training/ and validation/ with `.question` files. Each has five parts between empty lines: an address, the
passage, the query with `@placeholder` in place of a name, the name's marker, and what the markers stand for.

$$\mathrm{relevance}(s) = \sum_{w \in s \cap q} \log\frac{1 + N}{1 + n_w},$$

where s and q are the sets of words of a sentence and of the query, and $n_w$ of the N training queries have
the word w. The placeholder is no word; a marker is one that no query has, since its number stands for another
entity in each question. Of equally relevant sentences the earlier ones are kept. The answer is never read, so
a passage may lose it.

*Source* Section 6.2: "each passage is limited to 4 sentences". In the files of Cooijmans and others (2016)
these are the 4 most relevant ones "as identified by a string matching procedure", which is not published. The
formula is ours: the inverse document frequency of Spärck Jones (1972).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import fsum, log
from pathlib import Path

from .questions import PLACEHOLDER, Question, is_marker
from .sources import DataError, Provenance
from .users import provenance_of, reading, users_own

SENTENCES = 4  # of a passage


def load_cnn() -> tuple[list[Question], list[Question], Provenance]:
    """The questions for training and for validation, and their provenance; `DataError` without the files."""
    folder = users_own("cnn", "Unpack cnn.tgz of the DeepMind Q&A data there.")
    folders = [folder / "questions" / part for part in ("training", "validation")]
    queries = [{*question.query} for question in _read(folders[0])]
    having = Counter(word for query in queries for word in query if not is_marker(word))
    train, valid = ([most_relevant(q, having, len(queries)) for q in _read(place)] for place in folders)
    citation = "Hermann et al.: Teaching machines to read and comprehend, NIPS (2015)"
    return train, valid, provenance_of(folder, "CNN's copyright", citation)


def _read(folder: Path) -> Iterator[Question]:
    paths = sorted(folder.glob("*.question"))
    if not paths:
        raise DataError(f"{folder} holds no *.question file of the DeepMind Q&A data; get them again.")
    for path in paths:
        with reading(path):
            address, passage, query, answer, listing = path.read_text("utf-8").strip().split("\n\n")
            names = dict(line.split(":", 1) for line in listing.splitlines())
            found = Question(tuple(passage.split()), tuple(query.split()), answer.strip(), names, address)
            if PLACEHOLDER not in found.query or not is_marker(found.answer):
                raise ValueError(f"its question has no {PLACEHOLDER}, or its answer is no entity")
        yield found


def most_relevant(question: Question, having: Counter[str], total: int) -> Question:
    """The question with the four most relevant sentences of its passage, or all if there are fewer."""
    told = split_sentences(question.passage)
    asked = set(question.query) - {PLACEHOLDER}
    worth = [fsum(log((1 + total) / (1 + having[word])) for word in asked & {*some}) for some in told]
    best = sorted(range(len(told)), key=lambda k: -worth[k])[:SENTENCES]
    return replace(question, passage=tuple(token for k in sorted(best) for token in told[k]))


def split_sentences(tokens: Sequence[str]) -> list[list[str]]:
    """The sentences of a text: each ends with ".", "?" or "!", and the quotation marks after it."""
    found: list[list[str]] = [[]]
    for token in tokens:
        if not {".", "?", "!"}.isdisjoint(found[-1]) and token not in ("''", '"', "'", "”"):
            found.append([])
        found[-1].append(token)
    return found

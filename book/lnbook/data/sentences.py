"""The sentence sets on which skip-thought vectors are judged: four with two classes, one of scored pairs.

MPQA, the fifth of the paper's sets, may not be redistributed under its license; "pros and cons" stand in its
place. SICK is not for commercial use: it is read where a user has it and never downloaded unasked, but by
`python -m lnbook data --download sick`.
"""

import io
import re
import zipfile
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64

from .sources import Provenance, published

# the file of each class, 1 and 0; in an archive or plain
_FILES = {
    "mr": ("sentence_polarity.zip", "sentence_polarity/rt-polarity.pos", "sentence_polarity/rt-polarity.neg"),
    "cr": ("", "custrev.pos", "custrev.neg"),
    "subj": ("subjectivity.zip", "subjectivity/quote.tok.gt9.5000", "subjectivity/plot.tok.gt9.5000"),
    "pros_cons": ("pros_cons.zip", "pros_cons/IntegratedPros.txt", "pros_cons/IntegratedCons.txt"),
}
CLASSIFICATIONS = tuple(_FILES)
_TAG = re.compile(r"</?(?:Pros|Cons)>")


@dataclass(frozen=True)
class Labelled:
    """Sentences in two classes: positive, subjective or "pros" is 1."""

    texts: tuple[str, ...]
    labels: Int64[np.ndarray, " N"]


@dataclass(frozen=True)
class Pairs:
    """Pairs of sentences, and how related people find them, from 1 to 5."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    scores: Float64[np.ndarray, " N"]


def load_labelled(name: str = "sentence_classification") -> tuple[dict[str, Labelled], Provenance]:
    """Movie and customer reviews, subjectivity, pros and cons; else, or by name, "sentence_templates"."""
    files, provenance = published(name, on_stand_in="silent")
    if not files:
        return {task: _made(task) for task in CLASSIFICATIONS}, provenance
    return {task: _classes(files, *_FILES[task]) for task in CLASSIFICATIONS}, provenance


def load_pairs(name: str = "sick") -> tuple[dict[str, Pairs], Provenance]:
    """SICK's pairs in its parts "train", "trial" and "test", and their provenance; `name` as above."""
    files, provenance = published(name, on_stand_in="silent")
    if not files:
        sizes = {"train": (200, 1), "trial": (50, 2), "test": (100, 3)}
        return {part: made_pairs(*size) for part, size in sizes.items()}, provenance
    parts = {}
    for part, body in zip(("train", "trial", "test"), files.values(), strict=True):
        rows = [line.split("\t") for line in body.decode("utf-8").splitlines()[1:] if line]  # after a header
        _, first, second, scores, *_ = zip(*rows, strict=True)
        parts[part] = Pairs(first, second, np.array(scores, float))
    return parts, provenance


def _classes(files: dict[str, bytes], archive: str, *names: str) -> Labelled:
    if archive:
        with zipfile.ZipFile(io.BytesIO(files[archive])) as members:
            files = {name: members.read(name) for name in names}
    texts = [_TAG.sub("", files[name].decode("utf-8", "replace")).splitlines() for name in names]
    lines = [[line.strip() for line in part if line.strip()] for part in texts]
    return Labelled((*lines[0], *lines[1]), np.repeat([1, 0], [len(part) for part in lines]))


# What serves where no published sentences are available. The label follows from the words alone, so that a
# bag of words can reach a perfect score: a protocol runs, but nothing is said about an encoder.

_WORDS = """
    simple useful valid clear efficient consistent general powerful possible allowed
    empty invalid missing undefined illegal hidden subtle different anonymous long
    syntax expression statement example definition language form rule name text
    module class function method file list string type value code
    calling comparing using creating importing defining
    block loop program package namespace interpreter
"""
_GOOD, _BAD, _IDEA, _PART, _DOING, _WHERE = (line.split() for line in _WORDS.strip().splitlines())

# {mark} is one of the good words or of the bad ones, and that is the label; a subjective sentence has either
_PATTERNS = {
    "mr": ("the {thing} is {mark} and the {other} is always the same", _IDEA),
    "cr": ("after one day the {thing} is {mark} , and so is the {other}", _PART),
    "pros_cons": ("{mark} {thing} , {mark2} {other}", _PART),
    "subj": ("it seems that the {thing} should be {mark} , but the {other} does not", _IDEA),
}
_OBJECTIVE = "a {who} in the {where} is called with a {what} and another {who2}"


def _made(task: str) -> Labelled:
    """160 sentences, their labels 1 and 0 in turn."""
    draw = np.random.default_rng([0, [*_PATTERNS].index(task)])
    return Labelled(tuple(_sentence(draw, task, k % 2 == 0) for k in range(160)), np.tile([1, 0], 80))


def _sentence(draw: np.random.Generator, task: str, first: bool) -> str:
    if task == "subj" and not first:
        who, what, who2 = draw.choice(_PART, 3, replace=False)
        return _OBJECTIVE.format(who=who, who2=who2, where=draw.choice(_WHERE), what=what)
    pattern, things = _PATTERNS[task]
    words = _GOOD + _BAD if task == "subj" else (_GOOD if first else _BAD)
    thing, other = draw.choice(things, 2, replace=False)
    mark, mark2 = draw.choice(words, 2, replace=False)
    return pattern.format(thing=thing, other=other, mark=mark, mark2=mark2)


def made_pairs(count: int, seed: int) -> Pairs:
    """Pairs of sentences with four slots each, and 1 + how many slots agree: a score from 1 to 5."""
    draw = np.random.default_rng(seed)
    slots = (_PART[:5], _DOING, _PART[5:], _WHERE)
    first, second, scores = [], [], []
    for k in range(count):
        alike = draw.choice(4, k % 5, replace=False).tolist()
        drawn = [draw.choice(words, 2, replace=False).tolist() for words in slots]
        one = [word for word, _ in drawn]
        two = [a if n in alike else b for n, (a, b) in enumerate(drawn)]
        first.append("a {} is {} a {} in the {}".format(*one))
        second.append("a {} is {} a {} in the {}".format(*two))
        scores.append(1.0 + len(alike))
    return Pairs(tuple(first), tuple(second), np.array(scores))

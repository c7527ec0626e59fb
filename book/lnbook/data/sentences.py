"""The sentence sets on which skip-thought vectors are judged: four with two classes, one of scored pairs.

MPQA, the fifth of the paper's sets, may not be redistributed under its license; "pros and cons" stand in its
place. SICK is not for commercial use: it is read where a user has it and never downloaded unasked.
"""

import io
import re
import zipfile
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from . import templates
from .sources import OnStandIn, published

CLASSIFICATIONS = ("mr", "cr", "subj", "pros_cons")

# the file of each class, 1 and 0; in an archive or plain
_FILES = {
    "mr": ("sentence_polarity.zip", "sentence_polarity/rt-polarity.pos", "sentence_polarity/rt-polarity.neg"),
    "subj": ("subjectivity.zip", "subjectivity/quote.tok.gt9.5000", "subjectivity/plot.tok.gt9.5000"),
    "cr": ("", "custrev.pos", "custrev.neg"),
    "pros_cons": ("pros_cons.zip", "pros_cons/IntegratedPros.txt", "pros_cons/IntegratedCons.txt"),
}
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


def load_labelled(
    on_stand_in: OnStandIn = "warn", *, name: str = "sentence_classification"
) -> tuple[dict[str, Labelled], dict[str, Any]]:
    """Movie reviews, customer reviews, subjectivity, pros and cons: all sentences, and their provenance.

    `name` may be "sentence_templates" for the generated ones on purpose; `on_stand_in` is as in
    `lnbook.data.published`.
    """
    files, provenance = published(name, on_stand_in=on_stand_in)
    if not files:
        made = {task: templates.labelled(task) for task in CLASSIFICATIONS}
        return {task: Labelled(tuple(x), np.array(y)) for task, (x, y) in made.items()}, provenance
    return {task: _classes(files, *_FILES[task]) for task in CLASSIFICATIONS}, provenance


def load_pairs(
    on_stand_in: OnStandIn = "warn", *, name: str = "sick"
) -> tuple[dict[str, Pairs], dict[str, Any]]:
    """SICK's pairs in its parts "train", "trial" and "test", and their provenance.

    Nothing is downloaded: SICK's licence is for a user to accept, by `python -m lnbook data --download sick`.
    The arguments are as in `load_labelled`.
    """
    files, provenance = published(name, on_stand_in=on_stand_in)
    if not files:
        sizes = {"train": (200, 1), "trial": (50, 2), "test": (100, 3)}
        made = {part: templates.pairs(*size) for part, size in sizes.items()}
        return {part: Pairs(tuple(a), tuple(b), np.array(s)) for part, (a, b, s) in made.items()}, provenance
    parts = zip(("train", "trial", "test"), files.values(), strict=True)
    return {part: _sick(body.decode("utf-8")) for part, body in parts}, provenance


def _sick(text: str) -> Pairs:
    """The pairs of one of SICK's files: a header, then tab-separated lines."""
    rows = [line.split("\t") for line in text.splitlines()[1:] if line]
    scores = np.array([float(row[3]) for row in rows])
    return Pairs(tuple(row[1] for row in rows), tuple(row[2] for row in rows), scores)


def _classes(files: dict[str, bytes], archive: str, *names: str) -> Labelled:
    if archive:
        with zipfile.ZipFile(io.BytesIO(files[archive])) as members:
            held = [members.read(name) for name in names]
    else:
        held = [files[name] for name in names]
    texts = [_TAG.sub("", text.decode("utf-8", "replace")).splitlines() for text in held]
    lines = [[line.strip() for line in part if line.strip()] for part in texts]
    return Labelled((*lines[0], *lines[1]), np.repeat([1, 0], [len(part) for part in lines]))

"""Handwriting as sequences: offsets of the pen, and the text that is written.

A line becomes points (dx, dy, 1 if the stroke ends here), in units of the training offsets' standard
deviation, one for x and one for y. The first point of a line is where all lines begin, (0, 0, 1).
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Float, Float32, Int64

from . import iam, omniglot, scribbles
from .books import load_books
from .sources import OnStandIn, Provenance, published

TEXT = 5_000_000  # characters of books, from which texts are taken
EVERY = 4  # of Omniglot's points, this many-th is kept


@dataclass(frozen=True)
class Part:
    """Lines of one part, padded with zeros."""

    points: Float32[np.ndarray, "N S 3"]  # the first of the S = T + 1 is (0, 0, 1); T are to be predicted
    lengths: Int64[np.ndarray, " N"]  # T of each line
    texts: Int64[np.ndarray, "N U"]  # numbers of characters in the alphabet
    letters: Int64[np.ndarray, " N"]  # how many
    exact: Float[np.ndarray, " N"] | None = None  # the true -log likelihood in nats, where it is known


@dataclass(frozen=True)
class Lines:
    """A set of lines in three parts; `scale` is the unit of dx and of dy in pixels."""

    train: Part
    valid: Part
    test: Part
    alphabet: str
    scale: Float[np.ndarray, " 2"]
    provenance: Provenance


@dataclass(frozen=True)
class Wanted:
    """How many lines, and of what kind; IAM-OnDB gives as many as it has, if these are more."""

    train: int
    valid: int
    test: int
    shortest: int = 8  # characters of a line; IAM-OnDB's are what they are
    longest: int = 12
    points: int = 0  # of longer lines the first so many points; 0: all


Written = tuple[str, Float[np.ndarray, "_ 3"], Sequence[float] | None]  # text, places, nats if known


@lru_cache(maxsize=2)
def load_lines(name: str, wanted: Wanted, *, on_stand_in: OnStandIn = "warn") -> Lines:
    """Lines of handwriting: "omniglot_strokes", "iam_ondb" of a user's folder, or "generated_strokes".

    Drawers (of IAM-OnDB: forms) that are in one part are in no other; so are stretches of text.
    """
    rng = np.random.default_rng(0)
    if name == "iam_ondb":
        parts, provenance = iam.load_forms(rng)
        counts = (wanted.train, wanted.valid, wanted.test)
        cut = [part[:count] for part, count in zip(parts, counts, strict=True)]
        return _gathered([[(*line, None) for line in part] for part in cut], iam.ALPHABET, wanted, provenance)
    files, provenance = published(name, on_stand_in=on_stand_in)
    if not files:
        return _gathered(_scribbled(wanted, rng), scribbles.ALPHABET, wanted, provenance)
    (archive,) = files.values()
    return _gathered(_composed(archive, wanted, rng), omniglot.ALPHABET, wanted, provenance)


def encode(text: str, alphabet: str) -> Int64[np.ndarray, " U"]:
    """Numbers of characters; raises ValueError for one that is not in the alphabet."""
    return np.array([alphabet.index(c) for c in text], dtype=np.int64)


def offsets(places: Float[np.ndarray, "S 3"]) -> Float[np.ndarray, "S 3"]:
    """Steps from point to point, each with its own mark; the first point becomes (0, 0, 1)."""
    steps = np.diff(places[:, :2], axis=0, prepend=places[:1, :2])
    marks = places[:, 2:].copy()
    marks[0] = 1
    return np.concatenate([steps, marks], 1)


def places(points: Float[np.ndarray, "S 3"]) -> list[Float[np.ndarray, "_ 2"]]:
    """The strokes that such points draw, from the origin on: what `offsets` undoes."""
    path = points[:, :2].cumsum(0)
    strokes = np.split(path, np.flatnonzero(points[1:, 2] > 0.5) + 2)
    return [stroke for stroke in strokes if len(stroke)]


def texts(stream: Sequence[str], count: int, wanted: Wanted, rng: np.random.Generator) -> list[str]:
    """Stretches of running words, of `wanted.shortest` to `wanted.longest` characters with their blanks."""
    found: list[str] = []
    for start in rng.integers(len(stream), size=100 * count):
        line, position = stream[start], start + 1
        while len(line) < wanted.shortest and position < len(stream):
            line, position = f"{line} {stream[position]}", position + 1
        if wanted.shortest <= len(line) <= wanted.longest:
            found.append(line)
        if len(found) == count:
            break
    return found


def _composed(archive: bytes, wanted: Wanted, rng: np.random.Generator) -> list[list[Written]]:
    people = omniglot.drawers(archive)
    shares = people[:16], people[16:18], people[18:]
    words = re.findall("[a-z]+", " ".join(load_books("silent").texts)[:TEXT].lower())
    ends = np.array([0, 8, 9, 10]) * len(words) // 10
    parts: list[list[Written]] = []
    for k, count in enumerate((wanted.train, wanted.valid, wanted.test)):
        lines = texts(words[ends[k] : ends[k + 1]], count, wanted, rng)
        hands = [shares[k][i] for i in rng.integers(len(shares[k]), size=count)]
        pairs = zip(lines, hands, strict=True)
        parts.append([(text, omniglot.compose(text, hand, EVERY, rng), None) for text, hand in pairs])
    return parts


def _scribbled(wanted: Wanted, rng: np.random.Generator) -> list[list[Written]]:
    parts: list[list[Written]] = []
    for count in (wanted.train, wanted.valid, wanted.test):
        lengths = rng.integers(wanted.shortest, wanted.longest + 1, size=count)
        texts = ("".join(rng.choice(list(scribbles.ALPHABET), length)) for length in lengths)
        parts.append([(text, *scribbles.scribble(text, rng)) for text in texts])
    return parts


def _gathered(
    written: Sequence[Sequence[Written]], alphabet: str, wanted: Wanted, provenance: Provenance
) -> Lines:
    """Offsets in units of the training part, texts in numbers, both padded."""
    end = wanted.points + 1 if wanted.points else None
    steps = [[offsets(line[1])[:end] for line in part] for part in written]
    scale = np.concatenate([s[1:, :2] for s in steps[0]]).std(0)
    train, valid, test = (_padded(part, s, scale, alphabet) for part, s in zip(written, steps, strict=True))
    digest = hashlib.sha256(b"".join(part.points.tobytes() for part in (train, valid, test))).hexdigest()
    provenance.setdefault("sha256", digest)
    provenance["cases"] = sum(map(len, written))
    return Lines(train, valid, test, alphabet, scale, provenance)


def _padded(
    written: Sequence[Written], steps: Sequence[np.ndarray], scale: np.ndarray, alphabet: str
) -> Part:
    lengths = np.array([len(s) - 1 for s in steps])
    letters = np.array([len(text) for text, *_ in written])
    points = np.zeros((len(steps), lengths.max() + 1, 3), np.float32)
    numbers = np.zeros((len(steps), letters.max()), np.int64)
    exact = []
    for n, ((text, _, nats), s) in enumerate(zip(written, steps, strict=True)):
        points[n, : len(s)] = s / (*scale, 1)
        numbers[n, : len(text)] = encode(text, alphabet)
        if nats is not None:  # a density in other units: p(x / s) = s p(x)
            exact.append(sum(nats[: lengths[n]]) - lengths[n] * np.log(scale).sum())
    return Part(points, lengths, numbers, letters, np.array(exact) if exact else None)

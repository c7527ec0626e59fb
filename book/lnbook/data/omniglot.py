"""Lines of writing, put together from the letters that people drew for Omniglot.

The zip is read in memory. `<folder>/Latin/character<cc>/<id>_<dd>.txt` holds what drawer dd drew of the cc-th
letter, a to z: rows `x,y,t` in pixels and milliseconds, y up, between START and lines BREAK, where the pen
was lifted.
"""

import io
import re
import zipfile
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from .datasets import DataError

__all__ = ["ALPHABET", "Drawer", "aligned", "compose", "drawers", "read_drawing"]

ALPHABET = " abcdefghijklmnopqrstuvwxyz"
BELOW = "gpqy"  # these hang from the height of an x; j, with its dot, from the height of a tall letter
SMALL, TALL = "acemnorsuvwxz", "bdfhklt"
GAP, BLANK = 14.0, 35.0  # pixels between two letters, and of a blank; an x is about 50 high
SIZE, SLANT = 0.1, 0.12  # how much letters vary: standard deviations of their log-size and of their slant

Drawer = Mapping[str, list[Float[np.ndarray, "_ 2"]]]  # of each letter its strokes

_MEMBER = re.compile(r"[^/]+/Latin/character(\d\d)/\d{4}_(\d\d)\.txt")


def drawers(archive: bytes, name: str = "the archive") -> list[Drawer]:
    """The twenty drawers of the Latin letters, each with all 26, `aligned`.

    Raises DataError for what is no such zip, or lacks a drawing.
    """
    found: dict[str, dict[str, list[np.ndarray]]] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as members:
            for member in members.namelist():
                if match := _MEMBER.fullmatch(member):
                    letter = ALPHABET[int(match[1])] if 1 <= int(match[1]) <= 26 else "?"
                    text = members.read(member).decode("ascii")
                    found.setdefault(match[2], {})[letter] = read_drawing(text, member)
    except (zipfile.BadZipFile, UnicodeDecodeError) as error:
        raise DataError(f"{name} is no whole zip of Omniglot's strokes ({error}); get it again.") from error
    if len(found) != 20 or any("".join(sorted(letters)) != ALPHABET[1:] for letters in found.values()):
        counts = {drawer: len(letters) for drawer, letters in sorted(found.items())}
        raise DataError(f"{name} must hold 26 Latin letters of 20 drawers; letters by drawer: {counts}.")
    return [aligned(letters) for _, letters in sorted(found.items())]


def read_drawing(text: str, name: str = "the drawing") -> list[Float[np.ndarray, "_ 2"]]:
    """The strokes of one file.

    Raises DataError, with the line, for another format.

    >>> [stroke.tolist() for stroke in read_drawing("START\\n1,-2,0\\nBREAK\\n3,-4,9\\n5,-6,9\\nBREAK\\n")]
    [[[1.0, -2.0]], [[3.0, -4.0], [5.0, -6.0]]]
    """
    lines = text.splitlines()
    if lines[:1] != ["START"]:
        raise DataError(f"{name} must begin with START, not {lines[:1]}.")
    strokes: list[np.ndarray] = []
    points: list[tuple[float, float]] = []
    for number, line in enumerate(lines[1:], 2):
        if line == "BREAK" and points:
            strokes.append(np.array(points))
            points = []
            continue
        try:
            x, y, _ = map(float, line.split(","))
        except ValueError:
            raise DataError(f"{name}, line {number}: {line!r} is neither x,y,t nor BREAK.") from None
        points.append((x, y))
    if points or not strokes:
        raise DataError(f"{name} must end with BREAK, with points in between.")
    return strokes


def compose(
    text: str, drawer: Drawer, every: int, generator: np.random.Generator
) -> Float[np.ndarray, "_ 3"]:
    """One person's letters side by side, on one line: x, y, and 1 where the pen is lifted.

    A hand never draws a letter twice alike, and Omniglot has each once: so every letter gets a size, a width
    and a slant of its own, near those drawn. The screen told whole pixels, so that three in ten steps go
    exactly straight up or down, and a density could be infinite there: so each point is moved within its
    pixel, at random.

    Args:
        text: of the `ALPHABET`.
        drawer: whose letters, `aligned`.
        every: keep every so-many-th point of a stroke, and its last.
        generator: of sizes, slants and the places within pixels.

    Raises ValueError for other characters.
    """
    if wrong := sorted(set(text) - set(ALPHABET)):
        raise ValueError(f"There are no letters {wrong}; a line is made of {ALPHABET!r}.")
    parts, right = [], 0.0
    for letter in text:
        if letter == " ":
            right += BLANK
            continue
        (wide, high), slant = np.exp(generator.normal(0, SIZE, 2)), generator.normal(0, SLANT)
        shape = np.array([[wide, 0.0], [slant * high, high]])
        for stroke in drawer[letter]:
            kept = stroke[_thinned(len(stroke), every)] @ shape + (right, 0)
            parts.append(np.column_stack([kept, np.arange(len(kept)) == len(kept) - 1]))
        right += wide * max(stroke[:, 0].max() for stroke in drawer[letter]) + GAP
    line = np.concatenate(parts) if parts else np.zeros((0, 3))
    line[:, :2] += generator.uniform(-0.5, 0.5, (len(line), 2))
    return line


def aligned(drawer: Drawer) -> Drawer:
    """The same letters, each beginning at x = 0, and standing on y = 0 or hanging below it."""
    x_height, tall = (np.median([np.ptp(_all(drawer[c])[:, 1]) for c in group]) for group in (SMALL, TALL))
    tops = dict.fromkeys(BELOW, x_height) | {"j": tall}
    found = {}
    for letter, strokes in drawer.items():
        points = _all(strokes)
        low, high = points.min(0), points.max(0)
        up = tops[letter] - high[1] if letter in tops else -low[1]
        found[letter] = [stroke + np.array([-low[0], up]) for stroke in strokes]
    return found


def _all(strokes: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(strokes)


def _thinned(count: int, every: int) -> list[int]:
    """Every so-many-th of so many points, and the last."""
    kept = list(range(0, count, every))
    return kept if kept[-1] == count - 1 else [*kept, count - 1]

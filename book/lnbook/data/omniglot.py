"""Lines of writing, put together from the letters that people drew for Omniglot.

The zip is read in memory. `<folder>/Latin/character<cc>/<id>_<dd>.txt` holds what drawer dd drew of the cc-th
letter, a to z: rows `x,y,t` in pixels and milliseconds, y up, between START and lines BREAK, where the pen
was lifted.
"""

import io
import re
import zipfile

import numpy as np
from jaxtyping import Float

ALPHABET = " abcdefghijklmnopqrstuvwxyz"
BELOW = "gpqy"  # these hang from the height of an x; j, with its dot, from the height of a tall letter
SMALL, TALL = "acemnorsuvwxz", "bdfhklt"
GAP, BLANK = 14.0, 35.0  # pixels between two letters, and of a blank; an x is about 50 high
SIZE, SLANT = 0.1, 0.12  # how much letters vary: standard deviations of their log-size and of their slant

Drawer = dict[str, list[Float[np.ndarray, "_ 2"]]]  # of each letter its strokes

_MEMBER = re.compile(r"[^/]+/Latin/character(\d\d)/\d{4}_(\d\d)\.txt")


def drawers(archive: bytes) -> list[Drawer]:
    """The twenty drawers of the Latin letters, each with all 26, `aligned`."""
    found: dict[str, Drawer] = {}
    with zipfile.ZipFile(io.BytesIO(archive)) as members:
        for member in members.namelist():
            if match := _MEMBER.fullmatch(member):
                letter = ALPHABET[int(match[1])]
                text = members.read(member).decode().replace("START", "")
                found.setdefault(match[2], {})[letter] = [
                    np.array([row.split(",")[:2] for row in stroke.split()], float)
                    for stroke in text.split("BREAK")
                    if stroke.strip()
                ]
    return [aligned(letters) for _, letters in sorted(found.items())]


def compose(text: str, drawer: Drawer, every: int, rng: np.random.Generator) -> Float[np.ndarray, "_ 3"]:
    """One person's letters side by side, on one line: x, y, and 1 where the pen is lifted.

    A hand never draws a letter twice alike, and Omniglot has each once: so every letter gets a size, a width
    and a slant of its own, near those drawn. The screen told whole pixels, so that three in ten steps go
    exactly straight up or down, and a density could be infinite there: so each point is moved within its
    pixel, at random. Of a stroke the first point in every `every` is kept, and the last of all.
    """
    parts, right = [], 0.0
    for letter in text:
        if letter == " ":
            right += BLANK
            continue
        (wide, high), slant = np.exp(rng.normal(0, SIZE, 2)), rng.normal(0, SLANT)
        shape = np.array([[wide, 0.0], [slant * high, high]])
        for stroke in drawer[letter]:
            last = len(stroke) - 1
            kept = stroke[[k for k in range(last + 1) if k % every == 0 or k == last]] @ shape + (right, 0)
            parts.append(np.column_stack([kept, np.arange(len(kept)) == len(kept) - 1]))
        right += wide * max(stroke[:, 0].max() for stroke in drawer[letter]) + GAP
    line = np.concatenate(parts)
    line[:, :2] += rng.uniform(-0.5, 0.5, (len(line), 2))
    return line


def aligned(drawer: Drawer) -> Drawer:
    """The same letters, each beginning at x = 0, and standing on y = 0 or hanging below it."""
    x_height, tall = (
        np.median([np.ptp(np.concatenate(drawer[c])[:, 1]) for c in group]) for group in (SMALL, TALL)
    )
    tops = dict.fromkeys(BELOW, x_height) | {"j": tall}
    found = {}
    for letter, strokes in drawer.items():
        points = np.concatenate(strokes)
        low, high = points.min(0), points.max(0)
        up = tops[letter] - high[1] if letter in tops else -low[1]
        found[letter] = [stroke + np.array([-low[0], up]) for stroke in strokes]
    return found

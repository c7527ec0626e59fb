r"""Generated scenes with captions, between which a partial order is known: the stand-in of Section 6.1.

A thing is a set of attributes, say {small, red, ball}; a description is a set of fewer of them, and no other:
"a red ball", "something small". Thing $a$ is as special as $b$ if $b\subseteq a$. A text describes several
things. Text $u$ stands above text $v$, written $v\preceq u$ ("v entails u"), if each of $u$'s things can be
given one of $v$'s, no two the same, that is as special. A scene is its complete text, and a caption is true
of it if it stands above.
"""

from itertools import permutations

import numpy as np

SIZES = ("small", "large")
COLORS = ("red", "green", "blue", "yellow")
SHAPES = ("ball", "box", "cone", "star")
CLASSES = tuple(f"{color} {shape}" for color in COLORS for shape in SHAPES)
Text = tuple[frozenset[str], ...]  # one set of attributes for each thing


def above(u: Text, v: Text) -> bool:
    """Whether `v` entails `u`: all that `u` says is said by `v`, too."""
    if len(u) > len(v):
        return False
    return any(all(a <= b for a, b in zip(u, chosen, strict=True)) for chosen in permutations(v, len(u)))


def words(text: Text) -> str:
    """A text in English, as "something small and red and a box"."""
    return " and ".join(_phrase(thing) for thing in text)


def _phrase(thing: frozenset[str]) -> str:
    adjectives = [word for word in (*SIZES, *COLORS) if word in thing]
    noun = next((word for word in SHAPES if word in thing), None)
    return "something " + " and ".join(adjectives) if noun is None else " ".join(["a", *adjectives, noun])


def scenes(count: int, generator: np.random.Generator) -> list[tuple[Text, list[Text]]]:
    """Scenes of two or three things, and five true captions of each: the first tells all, the others less."""
    found = []
    for _ in range(count):
        scene = tuple(
            frozenset(str(generator.choice(kind)) for kind in (SIZES, COLORS, SHAPES))
            for _ in range(generator.integers(2, 4))
        )
        found.append((scene, [scene, *(_less(scene, generator) for _ in range(4))]))
    return found


def _less(scene: Text, generator: np.random.Generator) -> Text:
    """Leave out things and attributes at random, but not all, and tell what is left in any order."""
    kept = generator.permutation(len(scene))[: generator.integers(1, len(scene) + 1)]
    told = (generator.choice(sorted(scene[k]), generator.integers(1, 4), replace=False) for k in kept)
    return tuple(frozenset(attributes.tolist()) for attributes in told)

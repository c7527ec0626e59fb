r"""Generated strokes whose exact likelihood is known.

Each character is a stroke. Whatever came before, a step of character c is drawn from

$$p_c(\Delta) = \sum_{m=1}^2 \pi_{cm}\,\mathcal N(\Delta \mid \mu_{cm}, \sigma_{cm}, \rho_{cm}),$$

and after each step the pen is lifted with probability q, which ends the character. So $-\log p$ of a line,
given its text, is a sum over its points; no model can be better on average than its mean. To reach it, a
model must learn the mixtures, and to read on at each lift of the pen and only there.
"""

import math

import numpy as np
from jaxtyping import Float, Int

ALPHABET = "abcdef"
LIFT = 0.15  # q


def _mixtures() -> tuple[np.ndarray, ...]:
    """Six characters: each zigzags between two directions of its own."""
    rng = np.random.default_rng(0)
    C = len(ALPHABET)
    angle = 2 * np.pi * (np.arange(C)[:, None] / C + np.array([0.0, 0.3]))
    mean = np.stack([1 + 2 * np.cos(angle), 3 * np.sin(angle)], -1)
    weight = rng.uniform(0.3, 0.7, C)
    std = rng.uniform(0.2, 0.5, (C, 2, 2))
    return np.stack([weight, 1 - weight], 1), mean, std, rng.uniform(-0.8, 0.8, (C, 2))


WEIGHT, MEAN, STD, RHO = _mixtures()  # (C, 2), (C, 2, 2) by component and axis, as much, (C, 2)


def scribble(text: str, rng: np.random.Generator) -> tuple[Float[np.ndarray, "_ 3"], list[float]]:
    """One line: places x, y and 1 where the pen is lifted; and $-\\log p$ of each later point, in nats.

    The first point is where the line begins, (0, 0, 1); it costs nothing.
    """
    drawn = []  # for each later point the character, the step to it, and whether the pen is lifted
    for character in text:
        c, lifted = ALPHABET.index(character), False
        while not lifted:
            m = int(rng.random() < WEIGHT[c, 1])
            first, second = rng.standard_normal(2)
            rho = RHO[c, m]
            step = MEAN[c, m] + STD[c, m] * (first, rho * first + math.sqrt(1 - rho**2) * second)
            lifted = bool(rng.random() < LIFT)
            drawn.append((c, *step, lifted))
    characters, steps, lifts = np.split(np.array(drawn, float), [1, 3], axis=1)
    found = np.vstack([(0, 0, 1), np.hstack([steps.cumsum(0), lifts])])
    lift = np.where(lifts[:, 0] == 1, LIFT, 1 - LIFT)
    return found, (-_log_density(characters[:, 0].astype(int), steps) - np.log(lift)).tolist()


def _log_density(c: Int[np.ndarray, " T"], step: Float[np.ndarray, "T 2"]) -> Float[np.ndarray, " T"]:
    z = (step[..., None, :] - MEAN[c]) / STD[c]  # components, axes
    left = 1 - RHO[c] ** 2
    exponent = -((z**2).sum(-1) - 2 * RHO[c] * z.prod(-1)) / (2 * left)
    height = WEIGHT[c] / (2 * np.pi * STD[c].prod(-1) * np.sqrt(left))
    return np.log((height * np.exp(exponent)).sum(-1))

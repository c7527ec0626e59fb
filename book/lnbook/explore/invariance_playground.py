"""The invariance playground: Table 1, computed again for what a reader does to the weights and the data."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from lnbook.explore.arrays import as_array
from lnbook.explore.element import Element, table
from lnlib.invariance import COLUMNS, PAPER, Row, Transformation, measure, paper_columns, rounding

__all__ = ["invariance_playground", "transformations"]

# Which cells leave the outputs alone: Table 1, and our row for RMS norm, in the order of the columns.
PROMISED = {norm: [PAPER[norm, column] for column in COLUMNS] for norm in ("batch", "weight", "layer")} | {
    "rms": [True, False, False, True, False, True]
}
METHODS = {"batch": "Batch norm", "weight": "Weight norm", "layer": "Layer norm", "rms": "RMS norm"}
START = tuple(2 if name.endswith("re-scaling") else 1 for name in COLUMNS)  # the sizes, to begin with
MOST = 3.0  # the largest size that the slider reaches
# Normalizing two numbers leaves their order and nothing else, so that there is little to see.
SIZES = {"units": (3, 6), "cases": (3, 8), "inputs": (2, 8)}
MAX_ROUNDING = 1e-10  # a hundredth of what the smallest epsilon of the figure, 1e-8, does


def invariance_playground(
    W: ArrayLike | Tensor | None = None,
    X: ArrayLike | Tensor | None = None,
    *,
    seed: int = 0,
) -> Element:
    r"""Let a reader transform a small layer, and see which normalizations do not notice.

    Table 1 with a verdict in every cell, and the outputs before and after the transformation of the chosen
    column. The reader chooses $\delta$ or the size of the shift, the $\epsilon$ that is added to variances,
    and whether batch norm keeps the statistics of the untransformed layer.

    *Source* Table 1, Eqs. (5)-(7); the row of RMS norm and the figure are ours.

    Args:
        W, X: weights (units, inputs) and data (cases, inputs), both or neither: 3 to 6 units, 3 to 8 cases,
            2 to 8 inputs. Drawn from `seed` where left out.
        seed: of the drawn layer, and of the directions of the shifts.

    Raises:
        ValueError: weights without data, not two grids that fit each other and the figure, not finite, or
            a layer of which every verdict would be rounding.

    >>> invariance_playground()
    <interactive figure: The invariance playground>
    """
    rng = np.random.default_rng(seed)
    if (W is None) != (X is None):
        raise ValueError("invariance_playground: give weights W and data X, or neither of them")
    if W is None or X is None:
        W, X = _draw(rng, 0.5, 0.0, 4, 3), _draw(rng, 1.0, 0.5, 5, 3)
    w = as_array("invariance_playground", "W", W, units=SIZES["units"], inputs=SIZES["inputs"])
    x = as_array("invariance_playground", "X", X, cases=SIZES["cases"], inputs=SIZES["inputs"])
    if w.shape[1] != x.shape[1]:
        raise ValueError(
            f"invariance_playground: W has {w.shape[1]} inputs, X has {x.shape[1]}; transpose one of them"
        )
    gamma, shift = (_draw(rng, 0.7, 0.0, 1, w.shape[1])[0] for _ in range(2))
    cells, bound = _measured(w, x, gamma, shift)
    state = {
        "W": w.tolist(),
        "X": x.tolist(),
        "gamma": gamma.tolist(),
        "shift": shift.tolist(),
        "columns": [name.replace("training ", "").capitalize() for name in COLUMNS],
        "start": START,
        "promised": {norm: list(map(int, cells)) for norm, cells in PROMISED.items()},
        "rounding": float(f"{2 * bound:.0e}"),
    }
    title = "The invariance playground"
    return Element("invariance_playground", "invariancePlayground", title, state, _fallback(cells))


def transformations(
    sizes: Sequence[float], gamma: np.ndarray, shift: np.ndarray, units: int, cases: int
) -> list[Transformation]:
    """The six columns of Table 1 at the sizes that the figure's slider gives them.

    >>> by = transformations([2, 1, 2, 2, 1, 3], np.zeros(3), np.zeros(3), units=4, cases=2)[-1]
    >>> by.data(torch.ones(2, 1))[:, 0].tolist()
    [3.0, 1.0]
    """
    return list(paper_columns(sizes, torch.from_numpy(gamma), torch.from_numpy(shift), units, cases).values())


def _draw(rng: np.random.Generator, spread: float, mean: float, *shape: int) -> np.ndarray:
    """Normal numbers, two decimals each."""
    return np.round(rng.normal(mean, spread, shape), 2) + 0.0


def _measured(
    w: np.ndarray, x: np.ndarray, gamma: np.ndarray, shift: np.ndarray
) -> tuple[dict[str, list[Row]], float]:
    """The cells at the sizes of the start, and what rounding can do wherever the sliders go."""
    W, X = torch.from_numpy(w), torch.from_numpy(x)

    def at(sizes: Sequence[float]) -> list[Transformation]:
        return transformations(sizes, gamma, shift, len(w), len(x))

    a = X @ W.T
    if not (bool((a != a[:1]).any(0).all()) and bool((a != a[:, :1]).any(1).all()) and bool(W.any(1).all())):
        raise ValueError(
            "invariance_playground: a unit equal for all cases, a case equal for all units, or a weight "
            "vector of zeros has a std or a length of 0, and nothing to divide by; change W or X"
        )
    bound = max(
        rounding(norm, by, W, X)
        for size in (-MOST, MOST)
        for norm, line in PROMISED.items()
        for by in itertools.compress(at([size] * len(COLUMNS)), line)
    )
    if not bound <= MAX_ROUNDING:
        raise ValueError(
            f"invariance_playground: rounding could change the outputs of this layer by {bound:.1e}, and the "
            f"figure tells changes of 1e-8 from none; give W and X whose summed inputs differ more"
        )
    cells = {
        norm: [measure(norm, by, W, X, name=name) for name, by in zip(COLUMNS, at(START), strict=True)]
        for norm in METHODS
    }
    return cells, bound


def _fallback(cells: dict[str, list[Row]]) -> str:
    """Table 1 at the sizes of the start."""
    caption = (
        f"Table 1, computed: the change of the normalized outputs when what is re-scaled is multiplied by "
        f"{START[0]:g} and what is re-centered is shifted, at ε = 0. Percentages are the largest change over "
        f"the largest output."
    )
    rows = [
        [METHODS[norm], *("invariant" if row.invariant else f"{row.max_relative_change:.0%}" for row in line)]
        for norm, line in cells.items()
    ]
    return table(caption, ["", *(name[0].upper() + name[1:] for name in COLUMNS)], rows)

"""The invariance playground: Table 1, computed again for what a reader does to the weights and the data."""

import numpy as np
import torch

from lnbook.explore.element import Element
from lnlib.invariance import COLUMNS, PAPER, measure, paper_columns

# Which cells leave the outputs alone: Table 1, and our row for RMS norm, in the order of the columns.
PROMISED = {norm: [PAPER[norm, column] for column in COLUMNS] for norm in ("batch", "weight", "layer")} | {
    "rms": [True, False, False, True, False, True]
}
METHODS = {"batch": "Batch norm", "weight": "Weight norm", "layer": "Layer norm", "rms": "RMS norm"}
START = tuple(2 if name.endswith("re-scaling") else 1 for name in COLUMNS)  # the sizes, to begin with


def invariance_playground(*, seed: int = 0) -> Element:
    r"""Table 1 with a verdict in every cell, and outputs before and after the chosen column's transformation.

    *Source* Table 1, Eqs. (5)-(7); the row of RMS norm and the figure are ours.
    """
    rng = np.random.default_rng(seed)
    W, X = _draw(rng, 0.5, 0.0, 4, 3), _draw(rng, 1.0, 0.5, 5, 3)
    gamma, shift = (_draw(rng, 0.7, 0.0, 1, 3)[0] for _ in range(2))
    state = {
        "W": W.tolist(),
        "X": X.tolist(),
        "gamma": gamma.tolist(),  # added to every weight vector, times the size
        "shift": shift.tolist(),  # added to every case
        "columns": [name.replace("training ", "").capitalize() for name in COLUMNS],
        "start": START,
        "promised": {norm: list(map(int, cells)) for norm, cells in PROMISED.items()},
    }
    layer = (torch.from_numpy(W), torch.from_numpy(X))
    moves = paper_columns(START, torch.from_numpy(gamma), torch.from_numpy(shift), len(W), len(X)).values()
    rows = []
    for norm, method in METHODS.items():
        cells = [measure(norm, by, *layer) for by in moves]
        said = ("invariant" if c.invariant else f"{c.max_relative_change:.0%}" for c in cells)
        rows.append([method, *said])
    caption = (
        f"Table 1, computed: the change of the normalized outputs when what is re-scaled is multiplied by "
        f"{START[0]:g} and what is re-centered is shifted, at ε = 0. Percentages are the largest change over "
        f"the largest output."
    )
    head = ["", *(name[0].upper() + name[1:] for name in COLUMNS)]
    return Element("invariance_playground", state, caption, head, rows)


def _draw(rng: np.random.Generator, spread: float, mean: float, *shape: int) -> np.ndarray:
    """Normal numbers, two decimals each."""
    return np.round(rng.normal(mean, spread, shape), 2) + 0.0

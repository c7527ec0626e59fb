r"""A grid of numbers that an explainer of layer norm shows, and whether its normalized half follows from it.

Both halves are printed to one decimal. So the question is whether numbers exist that round to the original
and whose normalization rounds to what is shown.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

# A web page that lets its readers toggle between batch norm and layer norm: 4 samples of 6 features.
ORIGINAL = np.array(
    [
        [0.1, 2.7, -0.6, 0.7, 0.3, -0.3],
        [-0.8, 1.8, 1.4, 1.2, -0.4, 0.1],
        [0.8, 2.3, 0.2, -0.4, 2.0, 0.7],
        [-0.8, -0.2, 0.9, 1.2, 0.1, -0.7],
    ]
)
SHOWN = np.array(
    [
        [-0.3, 2.1, -1.0, 0.2, -0.2, -0.8],
        [-1.4, 1.3, 0.9, 0.7, -1.0, -0.5],
        [-0.1, 1.5, -0.7, -1.4, 1.1, -0.2],
        [-1.2, -0.4, 1.1, 1.5, 0.1, -1.1],
    ]
)
_HALF = 0.05  # of the last digit


def misfit(
    axis: int,
    correction: int = 0,
    original: Float[np.ndarray, "N H"] = ORIGINAL,
    shown: Float[np.ndarray, "N H"] = SHOWN,
) -> float:
    r"""How far the shown grid is from a normalization of the original, beyond what rounding explains.

    $\min_{|\delta|\le0.05}\max\,\lvert\hat a(a+\delta)-s\rvert - 0.05$: 0 or less if rounding explains it.
    Of the worst row (`axis` 1, layer norm) or column (0, batch norm).
    """

    def of_line(a: np.ndarray, s: np.ndarray) -> float:
        """The least t with |normalized - s| <= 0.05 + t, over all roundings of a."""

        def excess(unknown: np.ndarray) -> np.ndarray:
            x = a + unknown[:-1]
            error = (x - x.mean()) / x.std(ddof=correction) - s
            return _HALF + unknown[-1] - np.concatenate([error, -error])

        bounds = [(-_HALF, _HALF)] * len(a) + [(-1.0, 10.0)]
        start, inside = np.append(np.zeros_like(a), 2.0), {"type": "ineq", "fun": excess}
        found = minimize(
            lambda unknown: unknown[-1], start, method="SLSQP", bounds=bounds, constraints=inside
        )
        return float(found.x[-1])

    lines = zip(*(grid if axis == 1 else grid.T for grid in (original, shown)), strict=True)
    return max(of_line(a, s) for a, s in lines)

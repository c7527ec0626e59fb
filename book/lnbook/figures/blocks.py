"""A block of cells, drawn in three dimensions."""

import numpy as np
from jaxtyping import Bool
from matplotlib.axes import Axes
from matplotlib.patches import Polygon

from lnbook.figures.palette import INK

ACROSS, UP, BACK = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.62, 0.42])  # of one cell


def block(ax: Axes, mark: Bool[np.ndarray, "back across down"], color: str) -> None:
    """The front, the right side and the top of a block; marked cells in the color."""
    N, C, P = mark.shape
    faces = [(mark[0, c, p], c * ACROSS + (P - 1 - p) * UP, ACROSS, UP) for c in range(C) for p in range(P)]
    faces += [
        (mark[n, -1, p], C * ACROSS + (P - 1 - p) * UP + n * BACK, BACK, UP)
        for n in range(N)
        for p in range(P)
    ]
    faces += [
        (mark[n, c, 0], c * ACROSS + P * UP + n * BACK, ACROSS, BACK) for n in range(N) for c in range(C)
    ]
    for marked, corner, one, two in faces:
        square = np.array([corner, corner + one, corner + one + two, corner + two])
        fill = {"fc": color, "alpha": 0.75} if marked else {"fc": "none"}
        ax.add_patch(Polygon(square, closed=True, ec="none", **fill))
        ax.add_patch(Polygon(square, closed=True, ec=INK, lw=0.8, fill=False))

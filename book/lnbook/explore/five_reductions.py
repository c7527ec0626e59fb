"""The five reductions: one tensor, five normalizations, and the numbers that share a mean in each."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from lnbook.explore.arrays import as_array, check_size
from lnbook.explore.element import Element, table
from lnbook.pages.beyond_convolution.reductions import FIVE, means, normalize

__all__ = ["five_reductions"]

MOST_CASES, MOST_ALONG, MOST_POSITIONS = 4, 12, 9  # that stay legible on a phone


def five_reductions(
    a: ArrayLike | Tensor | None = None, *, seed: int = 0, groups: int = 2, eps: float = 1e-5
) -> Element:
    r"""Let a reader pick a normalization and a number, and see which numbers share its mean.

    A tensor (cases, channels, height, width), drawn as a cube pulled apart into its cases and as the table
    that memory holds in the layout NCHW, NHWC or, with its positions in a row, NTC. Of batch norm, layer
    norm over C, H, W, instance norm, group norm and layer norm over C the reader chooses one; the set of the
    selected number is marked, and said in words with its $\mu$, its $\sigma$,
    $(a - \mu)/\sqrt{\sigma^2 + \epsilon}$, how `torch` writes the mean and how many gains the layer has.

    *Source* Eqs. (2) and (3) with other sets of units; the figure is ours.

    Args:
        a: the tensor (N, C, H, W): at most 4 cases, 12 for channels times width, and 9 positions. Drawn from
            `seed` where left out: 3 cases, 4 channels, 2 by 2 positions, one decimal.
        seed: of the drawn tensor, whose cases and channels differ in mean and spread.
        groups: of group norm; divides the channels.
        eps: added to the variance.

    Raises:
        ValueError: not four axes, larger than the figure, not finite, groups that do not divide the
            channels, negative `eps`.

    >>> five_reductions()
    <interactive figure: Five reductions>
    """
    cube = _checked(_draw(seed) if a is None else a)
    state = {"a": cube.tolist(), "groups": groups, "eps": eps}
    fallback = _fallback(torch.from_numpy(cube), groups, eps)
    return Element("five_reductions", "fiveReductions", "Five reductions", state, fallback, plots=True)


def _draw(seed: int) -> np.ndarray:
    """A tensor whose channels differ in mean and whose cases differ in spread, to one decimal."""
    rng = np.random.default_rng(seed)
    offset, spread = rng.normal(0, 1.5, (1, 4, 1, 1)), rng.uniform(0.5, 1.5, (3, 1, 1, 1))
    return np.round(offset + spread * rng.normal(size=(3, 4, 2, 2)), 1) + 0.0


def _checked(a: ArrayLike | Tensor) -> np.ndarray:
    """The tensor as float64, once it is known to be one that the figure can show."""
    along, positions = (1, MOST_ALONG), (1, MOST_POSITIONS)
    sizes = {"cases": (1, MOST_CASES), "channels": along, "height": positions, "width": positions}
    cube = as_array("five_reductions", "a", a, **sizes)
    _, channels, height, width = cube.shape
    check_size("five_reductions", "channels times width", channels * width, along)
    check_size("five_reductions", "positions", height * width, positions)
    return cube


def _fallback(a: Tensor, groups: int, eps: float) -> str:
    """What each normalization averages over, how many means it has, and what becomes of the first number."""
    spans = {
        "batch": "a channel over all cases and positions",
        "layer": "a case over all channels and positions",
        "instance": "a channel of a case over its positions",
        "group": "a group's channels of a case over all positions",
        "channels": "a position of a case over its channels",
    }
    rows = []
    for norm, (title, _) in FIVE.items():
        count = means(norm, a.shape, "NCHW", groups)
        first = float(normalize(a, norm, groups=groups, eps=eps)[0, 0, 0, 0])
        of = f" ({groups} groups)" if norm == "group" else ""
        rows.append([title + of, spans[norm], f"{count}", f"{a.numel() // count}", f"{first + 0.0:.2f}"])
    caption = (
        f"Five normalizations of one tensor of {a.shape[0]} cases, {a.shape[1]} channels and "
        f"{a.shape[2]} × {a.shape[3]} positions. The last column is what becomes of its first number, "
        f"{float(a[0, 0, 0, 0]):.1f}. The order of the axes in memory changes none of this."
    )
    return table(caption, ["", "one mean for", "means", "numbers in each", "first number"], rows)

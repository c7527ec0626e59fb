"""The axis flip: the same grid of summed inputs, normalized down its columns or along its rows."""

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from lnbook.explore.element import Element, two_decimals
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import layer_norm

EPS = 1e-5


def axis_flip(a: ArrayLike | Tensor | None = None, *, seed: int = 0) -> Element:
    r"""A grid of summed inputs beside its normalized outputs, $(a - \mu)/\sqrt{\sigma^2 + \epsilon}$.

    The reader changes a cell: every output that moves is marked. There is room for an `a` of 12 cases and 10
    units; where it is left out, `seed` draws one whose units differ in mean and whose cases differ in spread.

    *Source* Sections 2-3, Eqs. (2) and (3); the figure is ours.
    """
    if a is None:
        rng = np.random.default_rng(seed)
        offset, spread = rng.normal(0, 1.2, 8), rng.uniform(0.4, 1.8, (6, 1))
        a = np.round(offset + spread * rng.normal(size=(6, 8)), 1) + 0.0
    grid = torch.as_tensor(a, dtype=torch.float64).detach()
    outputs = {"none": grid, "batch norm": batch_norm(grid, eps=EPS), "layer norm": layer_norm(grid, eps=EPS)}
    rows = []
    for axis, noun in ((1, "case"), (0, "unit")):
        columns = [_moments(out, axis) for out in outputs.values()]
        rows += [[f"{noun} {k}", *line] for k, line in enumerate(zip(*columns, strict=True), start=1)]
    caption = (
        "Mean and standard deviation of the outputs. Batch norm gives every unit mean 0 and std 1 over the "
        "cases, layer norm every case over its units; one number alone has std 0."
    )
    return Element("axis_flip", {"a": grid.tolist(), "eps": EPS}, caption, ["mean, std", *outputs], rows)


def _moments(out: Tensor, axis: int) -> list[str]:
    mean, std = out.mean(axis).tolist(), out.std(axis, unbiased=False).tolist()
    return [f"{two_decimals(m)}, {two_decimals(s)}" for m, s in zip(mean, std, strict=True)]

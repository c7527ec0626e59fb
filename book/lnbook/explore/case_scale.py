"""Case scale: one case among several is multiplied by a number, and layer norm does not notice."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from torch import Tensor

from lnbook.explore.element import Element
from lnlib.invariance import eps_factor
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import layer_norm


def case_scale(*, seed: int = 0) -> Element:
    r"""Let a reader multiply one case of several, and see what moves: all cases, or none.

    The same summed inputs without a normalization, with batch norm and with layer norm. The reader chooses
    a case, its factor $\delta$, also a negative one, and the $\epsilon$ that is added to variances. Layer
    norm multiplies its output of the case by the sign of $\delta$ times
    $\sqrt{(s^2 + \epsilon)/(s^2 + \epsilon/\delta^2)}$, where $s^2$ is the variance of the case.

    *Source* Section 5.1, Eq. (7) and the last column of Table 1; the factor and the figure are ours.

    Args:
        seed: of the summed inputs, four cases of four units.

    >>> case_scale()
    <interactive figure: Case scale>
    """
    rng = np.random.default_rng(seed)  # the units differ in mean; one decimal each
    a = torch.from_numpy(np.round(rng.normal(0, 0.6, 4) + rng.normal(0, 0.8, (4, 4)), 1) + 0.0)
    rows = []
    for eps, delta in product((0.0, 1e-3), (3.0, 0.05, -1.0)):
        moved = (_outputs(torch.cat([delta * a[:1], a[1:]]), eps) - _outputs(a, eps)).abs().amax(2)
        cells = [f"{_show(float(by[0]))}; {_show(float(by[1:].max()))}" for by in moved]
        factor = float(eps_factor(a[0].var(correction=0), eps, delta))
        line = (f"δ = {delta:g}, ε = {eps:g}", *cells, f"{factor:.4f}")
        rows.append([text.replace("-", "−") for text in line])
    caption = (
        "Case 1 is multiplied by δ: the largest move of its numbers; of those of the other cases. Batch norm "
        "moves all cases. Layer norm moves none, unless δ is negative or an ε is added to the variance: then "
        "its case 1 is multiplied by the factor."
    )
    head = ["", "no norm", "batch norm", "layer norm", "factor"]
    return Element("case_scale", {"a": a.tolist()}, caption, head, rows)


def _outputs(a: Tensor, eps: float) -> Tensor:
    """Without a norm, with batch norm, with layer norm."""
    return torch.stack([a, batch_norm(a, eps=eps), layer_norm(a, eps=eps)])


def _show(value: float) -> str:
    return f"{value:.3f}" if value >= 5e-4 else "0" if value < 1e-12 else f"{value:.0e}"

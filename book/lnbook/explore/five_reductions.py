"""The five reductions: one tensor, five normalizations, and the numbers that share a mean in each."""

import numpy as np
import torch

from lnbook.explore.element import Element
from lnbook.pages.sec4_related_work.reductions import FIVE, means, normalize

GROUPS, EPS = 2, 1e-5
SPANS = {
    "batch": "a channel over all cases and positions",
    "layer": "a case over all channels and positions",
    "instance": "a channel of a case over its positions",
    "group": "a group's channels of a case over all positions",
    "channels": "a position of a case over its channels",
}


def five_reductions(*, seed: int = 0) -> Element:
    r"""The reader picks one of five normalizations and a number, and sees which numbers share its mean.

    The tensor (cases, channels, height, width) is drawn as a cube and as the table that memory holds. The
    words give $\mu$, $\sigma$, $(a - \mu)/\sqrt{\sigma^2 + \epsilon}$ and how `torch` writes the mean.

    *Source* Eqs. (2) and (3) with other sets of units; the figure is ours.
    """
    rng = np.random.default_rng(seed)  # channels differ in mean, cases in spread; to one decimal
    offset, spread = rng.normal(0, 1.5, (1, 4, 1, 1)), rng.uniform(0.5, 1.5, (3, 1, 1, 1))
    a = torch.from_numpy(np.round(offset + spread * rng.normal(size=(3, 4, 2, 2)), 1) + 0.0)
    rows = []
    for norm, (title, _) in FIVE.items():
        count = means(norm, a.shape, GROUPS)
        first = float(normalize(a, norm, groups=GROUPS, eps=EPS)[0, 0, 0, 0])
        of = f" ({GROUPS} groups)" if norm == "group" else ""
        rows.append([title + of, SPANS[norm], f"{count}", f"{a.numel() // count}", f"{first + 0.0:.2f}"])
    caption = (
        f"Five normalizations of one tensor of {a.shape[0]} cases, {a.shape[1]} channels and "
        f"{a.shape[2]} × {a.shape[3]} positions. The last column is what becomes of its first number, "
        f"{float(a[0, 0, 0, 0]):.1f}. The order of the axes in memory changes none of this."
    )
    head = ["", "one mean for", "means", "numbers in each", "first number"]
    return Element("five_reductions", {"a": a.tolist(), "groups": GROUPS, "eps": EPS}, caption, head, rows)

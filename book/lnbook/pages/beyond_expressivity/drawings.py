"""The expressivity chapter's picture: keys that no query prefers."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from scipy.spatial import ConvexHull

from lnbook.figures import plots

NONE, LAYER = plots.COLORS["none"], plots.COLORS["layer"]


def unselectable_keys(
    keys: Float[np.ndarray, "n 2"],
    scaled: Float[np.ndarray, "n 2"],
    curves: Mapping[int, Mapping[int, float]],
) -> Figure:
    """Keys before and after the scaling, their hull; and the share inside it, by units and number of keys."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.3))
    hull = ConvexHull(keys)
    left.add_patch(Polygon(keys[hull.vertices], fill=False, ec=NONE, lw=1.2, ls=":"))
    left.add_patch(Circle((0, 0), float(np.linalg.norm(scaled[0])), fill=False, ec=LAYER, lw=1.0))
    inside = np.setdiff1d(np.arange(len(keys)), hull.vertices)
    for start, end in zip(keys, scaled, strict=True):
        left.plot(*np.stack([start, end]).T, color=plots.GRID, lw=0.8)
    left.plot(*keys.T, "o", color=NONE, ms=6, label="without scaling")
    left.plot(*keys[inside].T, "o", color=NONE, mfc="none", ms=10, label="unselectable")
    left.plot(*scaled.T, "s", color=LAYER, ms=5, label="layer norm")
    left.set(xticks=[], yticks=[])
    left.set_aspect("equal", adjustable="datalim")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2)
    for (units, curve), (line, mark) in zip(
        curves.items(), ((":", "o"), ("-", "s"), ("--", "^")), strict=False
    ):
        right.plot([*curve], [*curve.values()], color=NONE, ls=line, marker=mark, label=f"{units} units")
    right.plot([*curve], [0] * len(curve), color=LAYER, label="layer norm, all")
    right.set(xlabel="keys", ylim=(-0.03, 1), title="share of unselectable keys")
    right.set_xscale("log", base=2)
    right.set_xticks([*curve], [str(number) for number in curve])
    right.legend()
    return fig

"""The expressivity chapter's pictures: keys that no query prefers, and merged points."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from scipy.spatial import ConvexHull

from lnbook.figures import plots

NONE, LAYER = plots.COLORS["none"], plots.COLORS["layer"]
TEAL, RED = plots.OTHERS["teal"], plots.OTHERS["red"]


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


def merging(circles: Sequence[Float[np.ndarray, "m 2"]], labels: Int[np.ndarray, " m"]) -> Figure:
    """All points on the circle after each layer norm; two labels, numbers name the points."""
    fig, found = plots.subplots(1, len(circles), figsize=(7.2, 7.2 / len(circles) + 0.3), squeeze=False)
    for number, (ax, points) in enumerate(zip(found[0], circles, strict=True), start=1):
        ax.add_patch(Circle((0, 0), 1, fill=False, ec=plots.GRID, lw=1))
        _labeled(ax, points, labels)
        ax.set(xlim=(-1.7, 1.7), ylim=(-1.2, 1.7), xticks=[], yticks=[], title=f"layer norm {number}")
        ax.set_aspect("equal")
        for side in ax.spines.values():
            side.set_visible(False)
    return fig


def _labeled(ax: Axes, points: Float[np.ndarray, "m 2"], labels: Int[np.ndarray, " m"]) -> None:
    names: dict[tuple[float, ...], list[str]] = {}
    for number, (point, label) in enumerate(zip(points, labels, strict=True), start=1):
        ax.plot(*point, "os"[label], color=(TEAL, RED)[label], ms=8)
        far = (1.42, 0.6)[label]  # numbers of one label outside the circle, of the other inside
        names.setdefault(tuple(np.round(far * point, 6)), []).append(str(number))
    for (x, y), numbers in names.items():
        ax.text(x, y, " ".join(numbers), ha="center", va="center", fontsize=9)

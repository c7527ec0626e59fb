"""The page's pictures: the table of jobs, keys that no query prefers, merged points."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from scipy.spatial import ConvexHull

from lnbook.figures import plots

NONE, LAYER = plots.COLORS["none"], plots.COLORS["layer"]
TEAL, RED = plots.OTHERS["teal"], plots.OTHERS["red"]
MARKS = {  # of a job that is ...
    "done": {"fillstyle": "full", "mfc": LAYER, "mec": LAYER},
    "in part": {"fillstyle": "left", "mfc": LAYER, "mec": LAYER, "mfcalt": "none"},
    "not done": {"fillstyle": "none", "mec": NONE},
}
JOBS = ("holds the size", "limits the step", "ignores the\nweights' size", "ignores the\ncase's size")


def done(jobs: Mapping[str, float], deeper: float) -> list[str]:
    """How far a way does each job, at depths whose quotient is `deeper`.

    A size is done within a factor of 2 of 1, in part within 10. A step is done if it grows less than the root
    of the depth, in part if at most by the depth to the power 3/2. The others are done if nothing changes.

    >>> done({"size": 0.2, "step": 8, "weights": 0, "case": 1}, 10)
    ['in part', 'in part', 'done', 'not done']
    """
    size, step, *changes = jobs.values()
    levels = [(max(size, 1 / size), 2, 10), (np.log(step) / np.log(deeper), 0.5, 1.5)]
    levels += [(change, 1e-12, 0.999) for change in changes]
    return ["done" if v < few else "in part" if v < many else "not done" for v, few, many in levels]


def job_table(found: Mapping[str, Mapping[str, float]], depths: tuple[int, int]) -> Figure:
    """A row a way, a column a job: a mark that is full, half or empty, and the number behind it."""
    fig, ax = plots.subplots(figsize=(7.2, 3.4))
    for row, way in enumerate(found.values()):
        size, step, *changes = way.values()
        sizes = (f"{v:.2g}" if v < 100 else f"$10^{{{np.log10(v):.0f}}}$" for v in (size, step))
        numbers = [*sizes, *(f"{v:.1f}" for v in changes)]
        levels = done(way, depths[1] / depths[0])
        for column, (level, number) in enumerate(zip(levels, numbers, strict=True)):
            ax.plot(column, row, "o", ms=11, mew=1.4, **MARKS[level])
            ax.text(column + 0.17, row, number, va="center", fontsize=10)
    for level, look in MARKS.items():
        ax.plot([], [], "o", ms=9, label=level, **look)
    ax.set(xlim=(-0.4, 3.7), ylim=(len(found) - 0.5, -0.6))
    ax.set_yticks(range(len(found)), list(found), fontsize=11)
    ax.set_xticks(range(4), JOBS, fontsize=11)
    ax.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    fig.legend(loc="outside lower center", ncols=3)
    return fig


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
    left.plot(*np.stack([keys, scaled], 1).T, color=plots.GRID, lw=0.8)
    left.plot(*keys.T, "o", color=NONE, ms=6, label="without scaling")
    inside = np.delete(keys, hull.vertices, axis=0)
    left.plot(*inside.T, "o", color=NONE, mfc="none", ms=10, label="unselectable")
    left.plot(*scaled.T, "s", color=LAYER, ms=5, label="layer norm")
    left.set(xticks=[], yticks=[])
    left.set_aspect("equal", adjustable="datalim")
    left.legend(loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2)
    for (units, curve), look in zip(curves.items(), ("o:", "s-", "^--"), strict=False):
        right.plot([*curve], [*curve.values()], look, color=NONE, label=f"{units} units")
    right.plot([*curve], [0] * len(curve), color=LAYER, label="layer norm, all")
    right.set(xlabel="keys", ylim=(-0.03, 1), title="share of unselectable keys")
    right.set_xscale("log", base=2)
    right.set_xticks([*curve], [str(number) for number in curve])
    right.legend()
    return fig


def merging(circles: Sequence[Float[np.ndarray, "m 2"]], labels: Int[np.ndarray, " m"]) -> Figure:
    """All points on the circle after each layer norm; two labels, numbers name the points."""
    fig, found = plots.subplots(1, len(circles), figsize=(7.2, 7.2 / len(circles) + 0.3))
    for number, (ax, points) in enumerate(zip(found, circles, strict=True), start=1):
        ax.add_patch(Circle((0, 0), 1, fill=False, ec=plots.GRID, lw=1))
        names: dict[tuple[float, ...], str] = {}
        for name, (point, label) in enumerate(zip(points, labels, strict=True), start=1):
            ax.plot(*point, "os"[label], color=(TEAL, RED)[label], ms=8)
            far = (1.42, 0.6)[label]  # numbers of one label outside the circle, of the other inside
            place = tuple(np.round(far * point, 6))
            names[place] = f"{names.get(place, '')} {name}".strip()
        for (x, y), there in names.items():
            ax.text(x, y, there, ha="center", va="center", fontsize=9)
        ax.set(xlim=(-1.7, 1.7), ylim=(-1.2, 1.7), xticks=[], yticks=[], title=f"layer norm {number}")
        ax.set_aspect("equal")
        ax.spines[:].set_visible(False)
    return fig

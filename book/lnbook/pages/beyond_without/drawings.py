"""The page's pictures: the table of jobs, what networks reach, keys that no query prefers, merged points."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from scipy.spatial import ConvexHull

from lnbook.figures import plots
from lnbook.pages.beyond_without.ways import Jobs

NONE, LAYER = plots.COLORS["none"], plots.COLORS["layer"]
TEAL, RED = plots.OTHERS["teal"], plots.OTHERS["red"]
MARKS = {"done": "full", "in part": "left", "not done": "none"}
Seeds = Float[np.ndarray, " seeds"]


def done(jobs: Jobs, deeper: float) -> list[str]:
    """How far a way does each job, at depths whose quotient is `deeper`.

    A size is done within a factor of 2 of 1, in part within 10. A step is done if it grows less than the root
    of the depth, in part if at most by the depth to the power 3/2. The others are done if nothing changes.

    >>> done(Jobs(0.2, 8, 0, 1), 10)
    ['in part', 'in part', 'done', 'not done']
    """
    far, grows = max(jobs.size, 1 / jobs.size), np.log(jobs.step) / np.log(deeper)
    levels = [(far, 2, 10), (grows, 0.5, 1.5)]
    levels += [(change, 1e-12, 0.999) for change in (jobs.weights, jobs.case)]
    return ["done" if v < few else "in part" if v < many else "not done" for v, few, many in levels]


def job_table(found: Mapping[str, Jobs], depths: tuple[int, int]) -> Figure:
    """A row a way, a column a job: a mark that is full, half or empty, and the number behind it."""
    fig, ax = plots.subplots(figsize=(7.2, 3.4))
    titles = ["holds the size", "limits the step", "ignores the\nweights' size", "ignores the\ncase's size"]
    for row, way in enumerate(found.values()):
        numbers = [_short(way.size), _short(way.step), *(f"{v:.1f}" for v in (way.weights, way.case))]
        levels = done(way, depths[1] / depths[0])
        for column, (level, number) in enumerate(zip(levels, numbers, strict=True)):
            color = LAYER if level != "not done" else NONE
            look = {"mfc": color, "mfcalt": "none", "mec": color, "fillstyle": MARKS[level]}
            ax.plot(column, row, "o", ms=11, mew=1.4, **look)
            ax.text(column + 0.17, row, number, va="center", fontsize=10)
    for level, style in MARKS.items():
        color = LAYER if style != "none" else NONE
        look = {"mfc": color, "mfcalt": "none", "mec": color, "fillstyle": style}
        ax.plot([], [], "o", ms=9, label=level, **look)
    ax.set(xlim=(-0.4, 3.7), ylim=(len(found) - 0.5, -0.6))
    ax.set_yticks(range(len(found)), list(found), fontsize=11)
    ax.set_xticks(range(4), titles, fontsize=11)
    ax.tick_params(length=0, top=False, labeltop=True, bottom=False, labelbottom=False)
    ax.grid(visible=False)
    for side in ax.spines.values():
        side.set_visible(False)
    fig.legend(loc="outside lower center", ncols=3)
    return fig


def _short(value: float) -> str:
    """Two digits, or a power of ten.

    >>> _short(0.8466), _short(2.2361), _short(14.94), _short(1.7e27)
    ('0.85', '2.2', '15', '10²⁷')
    """
    if value >= 100:
        return "10" + str(round(np.log10(value))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value:.2g}"


def dots(found: Mapping[str, Seeds], quantity: str) -> Figure:
    """What networks of each way reach: one row per way, small marks: networks."""
    fig, ax = plots.subplots(figsize=(7.2, 2.6))
    for row, (name, values) in enumerate(found.items()):
        color = NONE if name == "without a norm" else LAYER if "layer norm" in name else TEAL
        ax.plot(values, [row] * len(values), ".", color=color, ms=4, alpha=0.5)
        ax.plot(np.mean(values), row, "o", color=color, ms=6)
    ax.set(xlabel=quantity, yticks=range(len(found)), yticklabels=list(found))
    ax.set_ylim(len(found) - 0.5, -0.5)
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

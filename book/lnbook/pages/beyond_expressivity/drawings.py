"""The expressivity chapter's pictures: keys, an ellipse, merged points, rounding, and logits."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from matplotlib.ticker import PercentFormatter
from scipy.spatial import ConvexHull

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.ledger.intervals import interval

INK, NONE, LAYER = plots.INK, plots.COLORS["none"], plots.COLORS["layer"]
TEAL, RED, OLIVE, MAGENTA = (plots.OTHERS[name] for name in ("teal", "red", "olive", "magenta"))
LOOKS = ((TEAL, ":", "o"), (RED, "-", "s"), (OLIVE, "--", "^"), (MAGENTA, "-.", "D"))


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
    for (units, curve), (_, line, mark) in zip(curves.items(), LOOKS, strict=False):
        right.plot([*curve], [*curve.values()], color=NONE, ls=line, marker=mark, label=f"{units} units")
    right.plot([*curve], [0] * len(curve), color=LAYER, label="layer norm, all")
    right.set(xlabel="keys", ylim=(-0.03, 1), title="share of unselectable keys")
    right.set_xscale("log", base=2)
    right.set_xticks([*curve], [str(number) for number in curve])
    right.legend()
    return fig


def ellipse(
    outputs: Float[np.ndarray, "N 2"],
    axes: Float[np.ndarray, "2 2"],
    gains: Float[np.ndarray, " H"],
    halves: Float[np.ndarray, " K"],
) -> Figure:
    """Outputs of three units in their plane with the predicted half-axes; half-axes between the gains."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.2))
    left.plot(*outputs.T, ".", color=LAYER, ms=3)
    for axis in axes:
        left.annotate("", axis, (0, 0), arrowprops={"arrowstyle": "->", "color": RED, "lw": 2})
    left.set_aspect("equal", adjustable="datalim")
    left.set(xticks=[], yticks=[], title="outputs of three units")
    right.plot(gains, np.ones(len(gains)), "o", color=INK, ms=8, label="sizes of the gains")
    right.plot(halves, np.zeros(len(halves)), "s", color=LAYER, ms=7, label=r"half-axes / $\sqrt{H}$")
    for gain in gains:
        right.axvline(gain, ymax=0.57, color=INK, lw=0.8, ls=":")
    right.set(ylim=(-0.6, 2.2), yticks=[], title="eight units")
    right.legend(loc="upper center", ncols=2, columnspacing=1, handletextpad=0.2)
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


def precision(sizes: Sequence[int], wrong: Mapping[str, Sequence[Sequence[float]]]) -> Figure:
    """Share of wrong labels by number of points, for each precision."""
    fig, ax = plots.subplots(figsize=(7.2, 3.0))
    _bands(ax, sizes, wrong)
    ax.set(xlabel="points", ylim=(-0.02, 0.6), title="share of wrong labels")
    ax.axhline(0.5, color=INK, lw=0.8, ls=":")
    ax.annotate("guessing", (sizes[0], 0.5), (0, 4), textcoords="offset points")
    ax.legend(loc="center left")
    return fig


def quantized(gains: Sequence[float], errors: Mapping[str, Sequence[Sequence[float]]]) -> Figure:
    """Relative error of the next layer's outputs against the largest gain."""
    fig, ax = plots.subplots(figsize=(7.2, 3.2))
    _bands(ax, gains, errors)
    ax.set(xlabel="gain of 4 of 64 units", xscale="log", yscale="log", title="error of the outputs, relative")
    on.exactly(ax.xaxis, gains)
    on.plain(ax.yaxis, subs=(1, 2, 3, 5))
    ax.yaxis.set_major_formatter(PercentFormatter(1, decimals=0, symbol=" %"))
    ax.legend()
    return fig


def logits(
    rates: Sequence[float],
    largest: Mapping[str, Float[np.ndarray, "rates seeds updates"]],
) -> Figure:
    """Largest logit by update: a panel for each step size, a line for each seed."""
    fig, axes = plots.subplots(1, len(rates), figsize=(7.2, 3.0), sharey=True, squeeze=False)
    for k, (rate, ax) in enumerate(zip(rates, axes[0], strict=True)):
        for (name, runs), (color, line) in zip(largest.items(), ((NONE, ":"), (LAYER, "-")), strict=True):
            for run in runs[k]:
                ax.plot(run, color=color, ls=line, lw=0.8)
            ax.plot([], [], color=color, ls=line, label=name)
        ax.set(title=f"step size {rate:g}", xlabel="update", yscale="log")
    axes[0, 0].set_ylabel("largest logit")
    axes[0, 0].legend(loc="upper left")
    return fig


def _bands(ax: Axes, x: Sequence[float], curves: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Means with 95 % intervals, a curve for each name and a list of seeds for each place."""
    for (name, curve), (color, line, mark) in zip(curves.items(), LOOKS, strict=False):
        on.band(ax, x, map(interval, curve), color=color, ls=line, marker=mark, ms=5, label=name)

"""Section 4's pictures: which numbers share a mean, and first gains."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from lnbook.figures import plots

INK = plots.INK
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


def blocks(marks: Mapping[str, Bool[np.ndarray, "N C P"]]) -> Figure:
    """A block for each norm, with the numbers that share a mean with the one in front, top right."""
    none = np.zeros_like(marks["batch"])
    by_step = none.copy()
    by_step[:, -1, 0] = True
    panels = [
        ("batch norm", plots.COLORS["batch"], marks["batch"]),
        ("batch norm,\nby step", plots.COLORS["batch"], by_step),
        ("instance norm", plots.OTHERS["magenta"], marks["instance"]),
        ("weight norm", plots.COLORS["weight"], none),
        ("layer norm,\nall positions", plots.COLORS["layer"], marks["layer"]),
        ("layer norm,\neach position", plots.COLORS["layer"], marks["channels"]),
        ("group norm", plots.OTHERS["teal"], marks["group"]),
        ("", INK, none),
    ]
    fig, axes = plots.subplots(2, 4, figsize=(7.2, 3.4))
    cases, channels, positions = none.shape
    for ax, (title, color, mark) in zip(axes.flat, panels, strict=True):
        block(ax, mark, color)
        ax.set_title(title, fontsize=10)
        across, up = channels + cases * BACK[0], positions + cases * BACK[1]
        ax.set(xlim=(-0.9, across + 0.9), ylim=(-1.2, up + 0.1), aspect="equal")
        ax.axis("off")
    for k in range(channels):  # the row of weights of one unit, instead of data
        weight = Rectangle((0.7 * k, -0.9), 0.7, 0.7, fc=plots.COLORS["weight"], ec=INK, lw=0.6)
        axes[0, 3].add_patch(weight)
    axes[0, 3].text(0.7 * channels + 0.3, -0.55, "weights", va="center", fontsize=10)
    key = axes[1, 3]
    key.text(channels / 2, -0.2, "units C", ha="center", va="top", fontsize=10)
    key.text(-0.2, positions / 2, "positions P", ha="right", va="center", rotation=90, fontsize=10)
    right = channels + cases * BACK[0] / 2 + 0.3
    key.text(right, cases * BACK[1] / 2 - 0.2, "cases N", ha="left", va="top", fontsize=10)
    return fig


def gains(
    lag: Mapping[tuple[str, float], Float[np.ndarray, " T"]],
    errors: Mapping[tuple[str, float], Sequence[float]],
) -> Figure:
    """Gradients at the start against lag for two gains, and test errors after training from them."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(5.9, 2.8), width_ratios=(3, 2))
    for (method, gain), values in lag.items():
        style = {"color": plots.COLORS[method], "ls": "-" if gain == 1 else "--"}
        left.semilogy(values, label=f"{method}, {gain:g}" if method != "none" else "none", **style)
    left.axhline(1, color=INK, lw=0.8)
    left.set_xticks(range(0, len(next(iter(lag.values()))), 5))
    left.set(xlabel="steps back", title="gradient at the start", ylim=(1e-7, 1e9))
    left.legend(loc="upper left", ncol=2)
    for place, method in enumerate(("batch", "layer")):
        pairs = np.array([errors[method, gain] for gain in (0.1, 1.0)])
        at = np.array([0, 1]) + 3 * place
        right.plot(at, pairs, color=plots.COLORS[method], lw=0.8, alpha=0.6)
        right.plot(at, pairs.mean(1), "o-", color=plots.COLORS[method], lw=2.4)
        right.text(at.mean(), 3, f"{method} norm", ha="center", color=INK, fontsize=10)
    right.set(title="test error (%)", ylim=(0, 92), xlim=(-0.5, 4.5), xlabel="initial gain")
    right.set_xticks([0, 1, 3, 4], ["0.1", "1", "0.1", "1"])
    return fig

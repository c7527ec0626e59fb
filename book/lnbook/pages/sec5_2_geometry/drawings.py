"""Section 5.2's pictures: Fisher matrices, balls of equal divergence, and weights that grow."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from torch import Tensor

from lnbook.figures import axes as on
from lnbook.figures import plots

Curve = Float[np.ndarray, " points"]
Band = Float[np.ndarray, "seeds points"]
INK, NONE, LAYER = plots.INK, plots.COLORS["none"], plots.COLORS["layer"]


def orders(steps: Curve, kl: Curve, remainders: Mapping[str, Curve]) -> Figure:
    """A divergence against the length of the step, and what Eq. (8) misses of it, by normalization."""
    fig, ax = plots.subplots(figsize=(5.6, 3.4))
    ax.loglog(steps, kl, color=INK, lw=2.4)
    for method, values in remainders.items():
        color, line = plots.COLORS[method], plots.LINES[method]
        ax.loglog(
            steps, values, color=color, ls=line, label="no norm" if method == "none" else f"{method} norm"
        )
    ax.annotate("divergence: slope 2", (steps[0], kl[0]), (2, 4), textcoords="offset points", rotation=20)
    ax.set(xlabel="length of the step", ylabel="nats")
    ax.legend(title="what Eq. (8) misses: slope 3", loc="lower right")
    on.decades(ax.xaxis, ax.yaxis, ticks=9)
    return fig


def fisher_images(matrices: Mapping[str, Float[Tensor, "P P"]], H: int, D: int) -> Figure:
    """Fisher matrices of H units as images on one color scale, lines between units, blocks labelled."""
    rows = len(matrices) // 2 + 1  # two in a row, and a place for the colors
    fig, axes = plots.subplots(rows, 2, figsize=(5.6, 2.6 * rows))
    extreme = max(float(F.abs().max()) for F in matrices.values())
    starts = np.arange(H) * (D + 2)
    places = [start + at for start in starts for at in (D / 2, D + 0.5, D + 1.5)]
    names = [f"${letter}_{i + 1}$" for i in range(H) for letter in "wbg"]
    for ax, (title, F) in zip(axes.flat, matrices.items(), strict=False):
        n = len(F)
        image = ax.imshow(
            F.numpy(), vmin=-extreme, vmax=extreme, extent=(0, n, n, 0), interpolation="nearest"
        )
        for edge in starts[1:]:
            ax.axvline(edge, color=INK, lw=1)
            ax.axhline(edge, color=INK, lw=1)
        ax.set(title=title, xticks=places, yticks=places)
        ax.set_xticklabels(names)
        ax.set_yticklabels(names)
        ax.grid(False)
        ax.tick_params(length=0, pad=2)
    for ax in axes.flat[len(matrices) :]:
        ax.axis("off")
    fig.colorbar(image, cax=axes[-1, -1].inset_axes((0.1, 0.1, 0.08, 0.8)))
    return fig


def print_error(
    H: Sequence[int],
    frobenius: Band,
    spectral: Band,
    constant: float,
    curvatures: Mapping[str, tuple[float, float]],
) -> Figure:
    """Left, Eq. (13)'s relative error under layer norm; right, curvature by direction, exact and printed."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(5.6, 3.4), width_ratios=(5, 4))
    x = np.asarray(H, dtype=float)
    left.loglog(x, constant / np.sqrt(x), color=INK, lw=0.8, ls=":")
    left.loglog(x[x > 8], 1 - 4 / x[x > 8], color=INK, lw=0.8, ls=":")
    for values, mark, color, name in ((spectral, "s", INK, "spectral"), (frobenius, "o", LAYER, "Frobenius")):
        left.loglog(x, values.T, mark, color=color, alpha=0.45, ms=5, mew=0)
        on.name(left, name, x, values.mean(0), (0, -16), ha="right", color=color)
    left.set(xlabel="units $H$", title="relative error of Eq. (13)", ylim=(0.1, 1.2))
    on.exactly(left.xaxis, H)
    on.exactly(left.yaxis, [0.1, 0.2, 0.5, 1])
    rows = np.arange(len(curvatures))[::-1]
    for row, (exact, printed) in zip(rows, curvatures.values(), strict=True):
        right.plot([exact, printed], [row, row], color=NONE, lw=1)
        right.plot(exact, row, "o", color=LAYER, ms=8, label="exact" if row == 0 else None)
        right.plot(printed, row, "x", color=INK, ms=8, mew=2, label="as printed" if row == 0 else None)
    names = {"any": "average\ndirection", "scale": "scale $W$", "shift": "shift\nall rows"}
    right.set(
        yticks=rows,
        yticklabels=[names[key] for key in curvatures],
        xlim=(-0.08, None),
        ylim=(-0.5, len(rows) + 0.1),
    )
    right.set_title("curvature, 16 units")
    right.legend(loc="upper left", ncols=2, handletextpad=0.2, columnspacing=1)
    return fig


def balls(panels: Mapping[str, tuple[str, Sequence[tuple[float, Float[Tensor, "2 2"]]]]]) -> Figure:
    r"""Balls of equal divergence around weights of several lengths, one panel per model.

    A ball has the length of the weights and the Fisher matrix A of the plane across and along them, and is
    drawn where $d^\top A d$ makes a panel's first ball 0.5 wide. Without curvature along the weights it is a
    strip, open at both ends.
    """
    fig, grid = plots.subplots(1, len(panels), figsize=(5.6, 3.6), sharex=True, sharey=True)
    turn = np.linspace(0, 2 * np.pi, 200)
    for ax, (title, (method, drawn)) in zip(np.ravel(grid), panels.items(), strict=True):
        color = plots.COLORS[method]
        ax.plot(0, 0, "+", color=INK, ms=9)
        rim = 0.25**2 * float(drawn[0][1][0, 0])
        for length, metric in drawn:
            values, vectors = np.linalg.eigh(metric.numpy())
            if values[0] < 1e-9 * values[1]:
                _strip(ax, length, (rim / values[1]) ** 0.5, color)
            else:
                axes = vectors * np.sqrt(rim / values)
                ellipse = axes @ np.array([np.cos(turn), np.sin(turn)])
                ax.fill(ellipse[0], length + ellipse[1], color=color, alpha=0.25, lw=0)
                ax.plot(ellipse[0], length + ellipse[1], color=color)
            ax.plot(0, length, "o", color=color, ms=4)
        ax.set(title="no norm" if title == "none" else title, aspect="equal", xticks=[])
        ax.title.set_fontsize(10)
        ax.grid(False)
    np.ravel(grid)[0].set(yticks=range(4), ylabel="length of the weights")
    return fig


def _strip(ax: Axes, length: float, half: float, color: str) -> None:
    """The part of an open strip around one length, and its null direction as an arrow both ways."""
    reach = 0.34
    ax.fill_between([-half, half], length - reach, length + reach, color=color, alpha=0.25, lw=0)
    for side in (-half, half):
        ax.plot([side, side], [length - reach, length + reach], color=color)
    both = {"arrowstyle": "<|-|>", "color": INK, "lw": 1, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8}
    ax.annotate("", (0, length + 0.42), (0, length - 0.42), arrowprops=both)


def rates(
    growth: Mapping[float, Float[np.ndarray, " updates"]], loss: Mapping[str, Band], tried: Sequence[float]
) -> Figure:
    """Left, the norm of the weights by learning rate; right, the last loss against it, by way to train."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(5.6, 3.5))
    for (rate, values), width in zip(growth.items(), (1, 1.6, 2.4, 3.4), strict=False):
        update = np.arange(1, len(values) + 1)
        left.loglog(update, values, color=LAYER, lw=width)
        on.name(left, f"{rate:g}", update, values, (4, -4))
    left.set(xlabel="update", title="norm of the weights (start: 1)")
    left.set_xlim(1, 3 * len(values))
    for (name, values), color, line in zip(loss.items(), (LAYER, INK, INK), ("-", "--", ":"), strict=True):
        for seed in values:
            right.loglog(tried, seed, "o", color=color, alpha=0.4, ms=4, mew=0)
        right.loglog(tried, values.mean(0), color=color, ls=line, label=name)
    right.set(xlabel="learning rate of the weights", title="training loss at the end", ylim=(None, 6))
    on.exactly(right.xaxis, tried)
    on.exactly(right.yaxis, [0.1, 0.2, 0.5, 1, 2])
    right.legend(loc="upper left")
    on.plain(left.yaxis, subs=(1, 3))
    left.xaxis.set_minor_locator(NullLocator())
    return fig


def settling(
    lengths: Mapping[float, Float[np.ndarray, " updates"]],
    angles: Mapping[float, Float[np.ndarray, " updates"]],
    length: float,
    angle: float,
) -> Figure:
    """Norms of weights under decay from several starts, and the angle of an update, with their equilibria."""
    fig, pair = plots.subplots(1, 2, figsize=(5.6, 3.4))
    titles = "norm of the weights", "angle of an update (radians)"
    for ax, curves, end, title in zip(pair, (lengths, angles), (length, angle), titles, strict=True):
        for (start, values), line in zip(curves.items(), ("-", "--", ":"), strict=False):
            ax.semilogy(np.arange(1, len(values) + 1), values, line, color=LAYER, label=f"start × {start:g}")
        ax.axhline(end, color=INK, lw=1)
        ax.annotate("theory", (len(values), end), (4, -4), textcoords="offset points")
        ax.set(xlabel="update", title=title, xlim=(0, len(values)))
        on.plain(ax.yaxis)
    pair[0].legend(loc="upper right")
    return fig

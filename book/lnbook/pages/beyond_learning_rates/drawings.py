"""The page's pictures: an angle, weights that grow, angles in equilibrium, and task after task."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from lnbook.figures import axes as on
from lnbook.figures import plots

INK, LAYER = plots.INK, plots.COLORS["layer"]
TEAL, RED, OLIVE = (plots.OTHERS[name] for name in ("teal", "red", "olive"))
Curve = Float[np.ndarray, " points"]


def turning(step: float) -> Figure:
    """Weights W, a step at a right angle to them, and the angle; beside them 2W with half of the step."""
    fig, ax = plots.subplots(figsize=(7.2, 3.3))
    for times, side, names in ((1, 1, ("$W$", "step", "$W'$")), (2, -1, ("$2W$", "half the step", "$W'$"))):
        toward = np.exp(1j * np.radians(90 + 27 * side))  # the complex plane, where 1j turns by a right angle
        W, turned = times * toward, np.arctan(step / times**2)
        end = W * (1 + 1j * side * step / times**2)
        for tail, tip, color in ((0, W, LAYER), (0, end, INK), (W, end, RED)):
            style = {"arrowstyle": "-|>", "color": color, "lw": 2, "shrinkA": 0, "shrinkB": 0}
            ax.annotate("", _place(tip), _place(tail), arrowprops=style)
        ax.plot(*_place(times * np.exp(1j * np.linspace(0, np.pi, 200))), ":", color=INK, lw=1.2)
        ax.plot(*_place(0.6 * W * np.exp(1j * side * np.linspace(0, turned, 30))), color=INK)
        outer, inner = ("right", "left")[::side]
        texts = zip(names, (W, (W + end) / 2, end), (LAYER, RED, INK), strict=True)
        for (text, place, color), offset in zip(texts, ((0, 9), (14, 10), (14, -4)), strict=True):
            away = -side * offset[0], offset[1]
            ax.annotate(text, _place(place), away, textcoords="offset points", color=color, ha=outer)
        angle = f"{np.degrees(turned):.0f}°"
        ax.annotate(angle, _place(0.6 * W), (6 * side, 4), textcoords="offset points", ha=inner)
    ax.set(aspect="equal", xlim=(-2.6, 2.6), ylim=(-0.02, 2.3))
    ax.axis("off")
    return fig


def _place(z: complex | np.ndarray) -> tuple[Curve, Curve]:
    """The two coordinates of points of the complex plane."""
    return np.real(z), np.imag(z)


def brakes(
    growth: Mapping[float, Float[np.ndarray, " updates"]],
    loss: Mapping[str, Float[np.ndarray, "seeds points"]],
    tried: Sequence[float],
) -> Figure:
    """Left, the length of the weights by learning rate; right, the last loss against it, by way to train."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(5.6, 3.5))
    for (rate, values), width in zip(growth.items(), (1, 1.6, 2.4, 3.4), strict=False):
        update = np.arange(1, len(values) + 1)
        left.loglog(update, values, color=LAYER, lw=width)
        on.name(left, f"{rate:g}", update, values, (4, -4))
    left.set(xlabel="update", title="length of the weights (start: 1)")
    left.set_xlim(1, 3 * len(values))
    for (name, values), color, line in zip(loss.items(), (LAYER, INK, INK), ("-", "--", ":"), strict=True):
        right.loglog(tried, values.T, "o", color=color, alpha=0.4, ms=4, mew=0)
        right.loglog(tried, values.mean(0), color=color, ls=line, label=name)
    right.set(xlabel="learning rate of the weights", title="training loss at the end", ylim=(None, 6))
    on.exactly(right.xaxis, tried)
    on.exactly(right.yaxis, [0.1, 0.2, 0.5, 1, 2])
    right.legend(loc="upper left")
    on.plain(left.yaxis, subs=(1, 3))
    left.xaxis.set_minor_locator(NullLocator())
    return fig


def turns(panels: Mapping[str, tuple[Curve, Float[np.ndarray, "points layers"]]]) -> Figure:
    """Measured angle of each layer, a mark each, against the predicted one; the line is equality."""
    fig, axes = plots.subplots(1, len(panels), figsize=(7.2, 3.4), sharex=True, sharey=True)
    every = np.concatenate([predicted for predicted, _ in panels.values()])
    ends = 0.7 * every.min(), 1.4 * every.max()
    for ax, (title, (predicted, found)) in zip(axes, panels.items(), strict=True):
        ax.loglog(ends, ends, color=INK, lw=1)
        for k, (mark, color) in enumerate(zip("os^", (TEAL, RED, OLIVE), strict=True)):
            look = {"ms": 6, "mfc": "none", "mew": 1.4, "label": f"layer {k + 1}"}
            ax.loglog(predicted, found[:, k], mark, color=color, **look)
        ax.set(title=title, xlabel="predicted")
        on.plain(ax.xaxis, ax.yaxis)
    axes[0].set_ylabel("measured")
    axes[0].legend(loc="lower right")
    return fig


def tasks(losses: Mapping[str, Float[np.ndarray, "seeds tasks"]], lengths: Mapping[str, Curve]) -> Figure:
    """Left, loss after each task's updates, every seed and geometric mean; right, length of the weights."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.4))
    for (name, runs), color, line in zip(losses.items(), (TEAL, RED), ("-", "--"), strict=True):
        task = np.arange(1, runs.shape[1] + 1)
        left.semilogy(task, runs.T, color=color, lw=0.5, alpha=0.4)
        left.semilogy(task, np.exp(np.log(runs).mean(0)), color=color, ls=line, lw=2.2, label=name)
        right.plot(task, lengths[name], color=color, ls=line)
    left.set(xlabel="task", title="loss after its updates")
    right.set(xlabel="task", title="length of the weights", ylim=(0, None))
    on.plain(left.yaxis)
    left.legend(loc="upper left")
    return fig

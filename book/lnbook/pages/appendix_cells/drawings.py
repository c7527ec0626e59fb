"""The supplement's pictures: the cell and its normalizations, and the gradient along blank steps."""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyBboxPatch

from lnbook.figures import plots
from lnlib.rnn.variants import PLAIN, VARIANTS, Variant

INK, NONE, LAYER = plots.INK, plots.COLORS["none"], plots.COLORS["layer"]

# Where a variant may normalize, by the number in the drawing.
PLACES = {1: "state", 2: "input", 3: "cell, to $h_t$", 4: "sum", 5: "cell, to $t+1$"}

LSTM = VARIANTS["LSTM"]
SHOWN = {
    "plain, (17)-(19)": PLAIN,
    "paper, (20)-(22)": LSTM["paper"],
    "DRAW, (29)-(31)": LSTM["draw"],
    "joint, as Eq. (4)": LSTM["joint"],
    "per gate": LSTM["per_gate"],
    "normalized state": LSTM["normalized_state"],
}


def places(variant: Variant) -> set[int]:
    """The places of `PLACES` at which a variant of an LSTM normalizes."""
    gates: set[int] = {"separate": {1, 2}, "joint": {4}, "none": set()}[variant.gates]
    return gates | {"raw": set(), "output": {3}, "carried": {3, 5}, "next": {5}}[variant.cell]


def cell(variants: Mapping[str, Variant]) -> Figure:
    """The LSTM cell with its places of normalization, and below which variant uses which."""
    fig, (top, bottom) = plots.subplots(2, 1, figsize=(6.4, 5.4), height_ratios=(11, 10))
    _draw_cell(top)
    for row, (name, variant) in enumerate(variants.items()):
        bottom.axhline(row + 0.5, color=NONE, lw=0.5, alpha=0.5)
        bottom.text(-0.85, row, name, va="center")
        for place in places(variant):
            four = place == 4 and variant.per_gate
            x = place + 0.13 * np.arange(-1.5, 2) if four else np.array([place])
            bottom.plot(x, np.full(x.shape, row), "o", color=LAYER, ms=7 if four else 13)
    bottom.set(xlim=(-0.9, 5.6), ylim=(len(variants) - 0.3, -0.5), yticks=[])
    bottom.set_xticks(list(PLACES), [f"LN {k}\n{text}" for k, text in PLACES.items()])
    bottom.xaxis.tick_top()
    bottom.tick_params(length=0)
    bottom.spines[:].set_visible(False)
    bottom.grid(visible=False)
    return fig


def timeline(
    picture: Float[np.ndarray, "T D"], blank: int, sizes: Mapping[str, Float[np.ndarray, " T"]]
) -> Figure:
    """The rows of a picture in the order in which they are read; below, the gradient at each step."""
    fig, (top, ax) = plots.subplots(2, 1, sharex=True, height_ratios=(1, 3))
    top.imshow(picture.T, cmap=plots.AMOUNT, aspect="auto", extent=(0.5, len(picture) + 0.5, 0, 1))
    top.set(yticks=[], ylabel="input")
    top.grid(visible=False)
    top.tick_params(length=0)
    top.text((blank + 1) / 2, 0.5, "blank steps", ha="center", va="center")
    steps = np.arange(1, len(picture) + 1)
    looks = (LAYER, "-", 3, "left"), (LAYER, "--", 6, "right"), (NONE, "-", 3, "left")
    for (name, values), (color, dashes, step, side) in zip(sizes.items(), looks, strict=True):
        ax.semilogy(steps, values, dashes, marker="o", ms=3, color=color)
        away = (8, 4) if side == "left" else (-6, -14)
        ax.annotate(name, (step, values[step - 1]), away, textcoords="offset points", ha=side, color=color)
    limits = {"largest float32": np.finfo(np.float32).max, "its root: Adam squares gradients": 1.8e19}
    for name, height in limits.items():
        ax.axhline(height, color=INK, lw=1, ls=":")
        ax.text(len(picture) + 0.4, height, name, ha="right", va="bottom", fontsize=10)
    ax.axvspan(0.5, blank + 0.5, color=INK, alpha=0.06, lw=0)
    ax.set(xlim=(0.5, len(picture) + 0.5), ylim=(1e-8, 1e50), xlabel="step", ylabel="size of gradient")
    ax.set(xticks=steps[1::2], yticks=10.0 ** np.arange(0, 50, 10))
    return fig


def _draw_cell(ax: Axes) -> None:
    ax.set(xlim=(-0.3, 13.9), ylim=(0.3, 5.7), aspect="equal")
    ax.axis("off")

    def box(x: float, y: float, text: str, color: str = INK, width: float = 1.1, line: str = "-") -> None:
        corner = x - width / 2, y - 0.33
        ax.add_patch(
            FancyBboxPatch(corner, width, 0.66, "round,pad=0.04", fc="none", ec=color, lw=1.8, ls=line)
        )
        ax.text(x, y, text, ha="center", va="center", color=color)

    def arrow(*points: tuple[float, float]) -> None:
        *line, start, end = points
        if line:
            ax.plot(*zip(*line, start, strict=True), color=INK, lw=1.2, solid_joinstyle="miter")
        style = {"arrowstyle": "-|>", "color": INK, "lw": 1.2, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", end, start, arrowprops=style)

    for y, name, place in ((2.3, "h", 1), (0.9, "x", 2)):  # the projections
        arrow((0.75, y), (1.15, y))
        box(1.75, y, f"$W_{name}$")
        arrow((2.35, y), (2.85, y))
        box(3.5, y, f"LN {place}", LAYER)
        arrow((4.1, y), (4.75, y), (4.75, 1.6 + 0.3 * np.sign(y - 1.6)))
    for name, x in {"f": 7.0, "i": 8.0, "g": 9.2, "o": 10.3}.items():
        arrow((x, 1.6), (x, 2.2))
        box(x, 2.57, r"$\tanh$" if name == "g" else r"$\sigma$", width=0.95 if name == "g" else 0.7)
        ax.text(x - 0.12, 1.9, f"${name}$", ha="right", va="center")
    box(5.85, 1.6, "LN 4", LAYER, line="--")
    box(12.2, 5.2, "LN 5", LAYER, line="--")
    box(11.3, 4.34, "LN 3", LAYER)
    box(11.3, 3.43, r"$\tanh$", width=0.95)
    for x, y in ((4.75, 1.6), (8.6, 5.2), (7.0, 5.2), (8.6, 3.85), (11.3, 2.57)):
        ax.add_patch(Circle((x, y), 0.27, fc="none", ec=INK, lw=1.2))
        sign = "+" if (x, y) in ((4.75, 1.6), (8.6, 5.2)) else r"$\times$"
        ax.text(x, y, sign, ha="center", va="center_baseline", fontsize=12)
    letters = {"h_{t-1}": (0.2, 2.3), "x_t": (0.2, 0.9), "b": (3.75, 1.6)}
    letters |= {"c_{t-1}": (0.2, 5.2), "c_t": (13.55, 5.2), "h_t": (13.55, 2.57)}
    for name, at in letters.items():
        ax.text(*at, f"${name}$", ha="center", va="center", fontsize=13)
    for y, *ends in ((1.6, 5.03, 5.25), (1.6, 6.45, 10.3), (5.2, 8.89, 11.6)):
        ax.plot(ends, [y, y], color=INK, lw=1.2)
    across = (1.6, 3.95, 4.46), (2.57, 10.69, 11.01), (2.57, 11.59, 13.2)
    for y, start, end in (*across, (5.2, 0.75, 6.71), (5.2, 7.29, 8.31), (5.2, 12.8, 13.2)):
        arrow((start, y), (end, y))
    down = (11.3, 5.2, 4.71), (11.3, 3.97, 3.8), (11.3, 3.06, 2.86)
    for x, start, end in ((7.0, 2.97, 4.91), (8.6, 4.14, 4.91), *down):
        arrow((x, start), (x, end))
    arrow((8.0, 2.97), (8.4, 3.62))
    arrow((9.2, 2.97), (8.8, 3.62))

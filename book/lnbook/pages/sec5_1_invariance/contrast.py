r"""Trained digit classifiers that meet the same digits at another contrast or brightness; all pictures.

A network of one hidden layer, $\mathrm{logits} = V\,\mathrm{relu}(g\,\bar a + b) + c$ with $\bar a$ of one
norm, is trained on digits as they are. Then all pixels of a test digit are multiplied (Table 1: single
training case re-scaling) or shifted. Batch norm keeps the training set's statistics.
*Source* ours, Section 5.1.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float, Int64
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.figures import plots
from lnbook.training import torch_threads
from lnlib.invariance import BEYOND, COLUMNS, Row, columns
from lnlib.invariance.methods import Statistics, normalized, statistics, summed_inputs

Line = Sequence[float]
METHODS = ("batch", "weight", "layer")
COLOR = plots.COLORS | {"group": plots.INK, "instance": plots.INK, "input": plots.INK}
# A check where nothing changes, a turn where outputs follow, waves for nearly, a cross for broken.
SIGNS = {"invariant": "\u2713", "equivariant": "\u21bb", "nearly": "\u2248", "no": "\u00d7"}
NETWORKS = ("none", "batch", "weight", "layer", "layer, bias inside")


def train(
    method: str, x: Float[Tensor, "N D"], y: Int64[Tensor, " N"], *, updates: int, seed: int
) -> Callable[[Float[Tensor, "M D"]], Float[Tensor, "M K"]]:
    """The logits of one of :data:`NETWORKS`, trained with Adam (step size 0.003), no epsilon anywhere."""
    generator, norm = torch.Generator().manual_seed(seed), method.partition(",")[0]
    classes, inputs, units = int(y.max()) + 1, x.shape[1], 100

    def normal(*sizes: int, scale: float) -> Tensor:
        return (scale * torch.randn(*sizes, generator=generator)).to(x.dtype)

    def logits(x: Float[Tensor, "M D"], kept: Statistics | None = None) -> Float[Tensor, "M K"]:
        a = normalized(norm, p["W"], x, input_bias=p.get("inside"), frozen=kept)
        return torch.relu(p["g"] * a + p["b"]) @ p["V"].T + p["c"]

    p = {
        "W": normal(units, inputs, scale=(2 / inputs) ** 0.5),
        "V": normal(classes, units, scale=units**-0.5),
        "g": x.new_ones(units),
        "b": x.new_zeros(units),
        "c": x.new_zeros(classes),
    }
    if method.endswith("inside"):
        p["inside"] = ((2 * torch.rand(units, generator=generator) - 1) / inputs**0.5).to(x.dtype)
    optimizer = torch.optim.Adam([parameter.requires_grad_() for parameter in p.values()], lr=3e-3)
    with torch_threads(1):  # the matrices are too small for more
        for _ in range(updates):
            chosen = torch.randint(len(x), (100,), generator=generator)
            optimizer.zero_grad()
            cross_entropy(logits(x[chosen]), y[chosen]).backward()
            optimizer.step()
    frozen = statistics(summed_inputs("batch", p["W"].detach(), x)) if method == "batch" else None
    return torch.no_grad()(lambda x: logits(x, frozen))


def table1(rows: Sequence[Row]) -> Figure:
    """Table 1 with each transformation drawn: on the left what it changes, on the right who notices."""
    fig, ax = plots.subplots(figsize=(7.2, 3.6))
    cells = {row[:2]: row for row in rows}
    shifts = torch.tensor([1.0, -0.9, 0.6, 0.0])  # large enough to be seen
    by = columns(2.0, lambda *sizes: shifts[: sizes[-1]].clone(), units=4, inputs=3, cases=4)
    W = torch.tensor([[1.2, -0.5, 0.3], [-0.8, 1.0, 0.6], [0.4, -1.1, -0.6], [-0.4, 0.5, -1.0]])
    for row, column in enumerate(COLUMNS):
        y = len(COLUMNS) - row - 0.5
        is_data = "data" in column or "case" in column
        after = by[column].data(W) if is_data else by[column].weights(W)
        name = column.replace("single training case", "single training\ncase").replace("matrix ", "matrix\n")
        name = name.replace("vector ", "vector\n").replace("dataset ", "dataset\n")
        ax.text(-0.35, y, name, va="center", linespacing=1.4)
        for left, values in ((2.35, W), (3.75, after)):
            place = (left, left + 0.9, y - 0.38, y + 0.38)
            ax.imshow(values.numpy(), extent=place, vmin=-2.2, vmax=2.2, aspect="auto")
            ax.add_patch(Rectangle((left, y - 0.38), 0.9, 0.76, fill=False, ec=plots.INK, lw=0.6))
        ax.annotate("", (3.7, y), (3.3, y), arrowprops={"arrowstyle": "->", "color": plots.INK})
        ax.text(2.25, y, "$X$" if is_data else "$W$", va="center", ha="right")
        # the paper's word; our verdict by the filling, with the largest change
        for x, norm in zip((5.825, 7.575, 9.325), METHODS, strict=True):
            cell, change = cells[norm, column], cells[norm, column].max_relative_change
            fill = to_rgba(COLOR[norm], 0.35) if cell.invariant else "none"
            edge, lw = (plots.GRID, 1) if cell.invariant == cell.paper else (plots.OTHERS["red"], 3)
            ax.add_patch(Rectangle((x - 0.825, y - 0.44), 1.65, 0.88, fc=fill, ec=edge, lw=lw))
            ax.text(x, y + 0.16, "invariant" if cell.paper else "no", ha="center", va="center")
            text = "0" if change == 0 else f"{change:.0e}" if change < 0.01 else f"{change:.2g}"
            ax.text(x, y - 0.2, text, ha="center", va="center", size=10)
    for k, norm in enumerate(METHODS):
        ax.text(5.82 + 1.75 * k, len(COLUMNS) + 0.12, f"{norm}\nnorm", ha="center")
    ax.set(xlim=(-0.35, 10.2), ylim=(-0.02, len(COLUMNS) + 0.55))
    ax.axis("off")
    return fig


def beyond(rows: Sequence[Row]) -> Figure:
    """All methods and all transformations: a check for invariant, a minus for equivariant."""
    norms = list(dict.fromkeys(row.norm for row in rows))
    names = COLUMNS + BEYOND
    fig, ax = plots.subplots(figsize=(5.6, 5.4))
    for row in rows:
        x, y = norms.index(row.norm), names.index(row.transformation)
        if row.verdict == "no":
            continue
        fill = to_rgba(COLOR[row.norm], 0.35 if row.invariant else 0.1)
        ax.add_patch(Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, fc=fill, ec=plots.GRID))
        ax.text(x, y, SIGNS[row.verdict], ha="center", va="center", size=13)
    ax.axhline(len(COLUMNS) - 0.5, color=plots.INK, lw=0.8)
    ax.set(xlim=(-0.5, len(norms) - 0.5), ylim=(len(names) - 0.5, -0.5))
    ax.set_xticks(range(len(norms)), norms, rotation=40, ha="left")
    ax.set_yticks(range(len(names)), names)
    ax.xaxis.tick_top()
    ax.grid(False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return fig


def pictures(contrast: Line, brightness: Line, errors: Mapping[str, tuple[Line, Line]]) -> Figure:
    """Test error against contrast and brightness."""
    fig, axes = plots.subplots(1, 2, figsize=(5.6, 3.6), width_ratios=(3, 2))
    for norm, pair in errors.items():
        name = norm.partition(",")[0]
        color = plots.INK if "inside" in norm else plots.COLORS[name]
        style = (0, (1, 1)) if "inside" in norm else plots.LINES[name]
        for ax, x, y in zip(axes, (np.log2(contrast), brightness), pair, strict=True):
            ax.plot(x, y, ls=style, color=color, label=norm)
    axes[0].set(xlabel="contrast: pixels times", ylabel="test error (%)", ylim=(0, 100))
    powers = np.log2(contrast)[::2]
    axes[0].set_xticks(powers, [f"{2**p:g}" if p >= 0 else f"1/{2**-p:g}" for p in powers])
    axes[1].set(xlabel="brightness: pixels plus", ylim=(0, 100))
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig

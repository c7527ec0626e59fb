r"""Which numbers share a mean, in five normalizations of one tensor; and which networks are plain ones.

A tensor has cases N, channels C and positions P; positions are the axes H and W of a picture, or T of a
sequence. Each normalization is $\bar a = (a - \mu)/\sqrt{\sigma^2 + \epsilon}$, and what it takes its $\mu$
and $\sigma$ over says everything about it (`FIVE`). A *layout* names the axes in their order.

Eq. (5) gives a unit $\frac{g_i}{\sigma_i}(w_i^\top x-\mu_i)+b_i$. If neither $\mu_i$ nor $\sigma_i$ depends
on x, this is a plain unit with other weights. Section 4 also names the path norm, a size of a rectifier
network's weights that no re-scaling of its units changes.

*Source* Eq. (3) with other sets of units; batch norm for pictures is Ioffe and Szegedy's (2015).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle
from torch import Tensor, nn

from lnbook.figures import plots
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import group_norm, instance_norm, layer_norm, weight_norm
from lnlib.rnn import LSTM, RNN

Units = Float[Tensor, " H"]

INK = plots.INK
ACROSS, UP, BACK = np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.62, 0.42])  # of one cell
# Titles, and what is averaged over: some of "N", "C" and "P".
FIVE = {
    "batch": ("batch norm", "NP"),
    "layer": ("layer norm over C, H, W", "CP"),
    "instance": ("instance norm", "P"),
    "group": ("group norm", "CP"),  # of its channels those of one group
    "channels": ("layer norm over C", "C"),
}


def axes(over: str, layout: str) -> tuple[int, ...]:
    """The numbers of the axes that letters name: some of "N", "C" and "P", which is every position axis."""
    return tuple(k for k, axis in enumerate(layout) if (axis if axis in "NC" else "P") in over)


def normalize(
    a: Float[Tensor, "..."], norm: str, layout: str = "NCHW", *, groups: int = 2, eps: float = 1e-5
) -> Float[Tensor, "..."]:
    r"""One of the five normalizations, on a tensor of any layout."""
    case, channel = axes("N", layout) + axes("C", layout)
    first = a.movedim((case, channel), (0, 1))
    run = {
        "batch": lambda: batch_norm(first, eps=eps),
        "layer": lambda: group_norm(first, 1, eps=eps),
        "instance": lambda: instance_norm(first, eps=eps),
        "group": lambda: group_norm(first, groups, eps=eps),
        "channels": lambda: layer_norm(first, eps=eps, dim=1),
    }
    return run[norm]().movedim((0, 1), (case, channel))


def means(norm: str, shape: Sequence[int], groups: int = 2) -> int:
    """How many means, and as many standard deviations, one of the five computes for pictures (N, C, H, W)."""
    within = axes(FIVE[norm][1], "NCHW")
    sets = math.prod(size for k, size in enumerate(shape) if k not in within)
    return sets * groups if norm == "group" else sets


def against_torch(a: Float[Tensor, "N C H W"], norm: str, layer: nn.Module) -> float:
    """The largest difference of one of the five from a layer of `torch`, in outputs and in gradients."""
    weights = torch.linspace(-1, 1, a.numel(), dtype=a.dtype).sin().reshape(a.shape)
    x = a.detach().clone().requires_grad_()
    theirs = layer(x.movedim(1, -1)).movedim(-1, 1) if norm == "channels" else layer(x)
    off = normalize(x, norm) - theirs
    (gradient,) = torch.autograd.grad((off * weights).sum(), x)
    return float(torch.stack([off.detach(), gradient]).abs().max())


def sequence_change(steps: Float[Tensor, "N T C"], norm: str, share: float) -> float:
    r"""How far zeros behind a sequence move the normalized values of its own steps."""
    length = steps.shape[1]
    longer = nn.functional.pad(steps, (0, 0, 0, round(length * share / (1 - share))))
    padded = normalize(longer, norm, "NTC")[:, :length]
    still = normalize(steps, norm, "NTC")
    return float((padded - still).norm() / still.norm())


def plain_weights(
    W: Float[Tensor, "H D"], b: Units, gain: Units, mean: Units, std: Units
) -> tuple[Float[Tensor, "H D"], Units]:
    r"""Eq. (5) multiplied out: $w_i'=\frac{g_i}{\sigma_i}w_i$, $b_i'=b_i-\frac{g_i\mu_i}{\sigma_i}$."""
    return W * (gain / std).unsqueeze(1), b - gain * mean / std


@torch.no_grad()
def plain_lstm(lstm: LSTM) -> nn.LSTM:
    """torch's LSTM of one layer that computes what a weight-normalized one does."""
    plain, p = nn.LSTM(lstm.input_size, lstm.hidden_size, dtype=lstm.weight_hh_l0.dtype), lstm.state_dict()
    for side in ("ih_l0", "hh_l0"):
        p[f"weight_{side}"] = weight_norm(p[f"weight_{side}"], p.pop(f"gain_{side}"))
    plain.load_state_dict(p)
    return plain


@torch.no_grad()
def plain_steps(rnn: RNN) -> list[tuple[Tensor, Tensor, Tensor]]:
    """For each step of a batch-normalized RNN at test time: weights of input and state, and the bias."""
    p = rnn.state_dict()
    b, gain, steps = p["bias_ih_l0"] + p["bias_hh_l0"], p["gain_ih_l0"], []
    for mean, var in zip(p["running_mean_ih_l0"], p["running_var_ih_l0"], strict=True):
        std = (var + rnn.eps).sqrt()
        U, c = plain_weights(p["weight_ih_l0"], b, gain, mean, std)
        V, _ = plain_weights(p["weight_hh_l0"], b, gain, mean, std)
        steps.append((U, V, c))
    return steps


def affine_misfit(x: Float[Tensor, "N D"], values: Float[Tensor, "N H"]) -> float:
    """Share of the values' variance, in %, that the best affine map of x misses: 0 for a plain layer."""
    inputs = torch.cat([x, x.new_ones(len(x), 1)], 1)
    fit = inputs @ torch.linalg.lstsq(inputs, values, driver="gelsd").solution
    return float(100 * (values - fit).square().sum() / (values - values.mean(0)).square().sum())


def path_norm(layers: Sequence[tuple[Float[Tensor, "_ _"], Float[Tensor, " _"]]]) -> Float[Tensor, ""]:
    r"""$\phi = \Big(\sum_{\text{paths}}\prod_{e\in\text{path}} w_e^2\Big)^{1/2}$ for layers (W, b).

    A path leads to an output from an input or from a bias, the weight of a unit that is always 1.

    *Source* Neyshabur, Salakhutdinov, Srebro, "Path-SGD" (2015), with p = 2.
    """
    reaching = torch.ones_like(layers[0][0][0])
    for W, b in layers:
        reaching = W.square() @ reaching + b.square()
    return reaching.sum().sqrt()


def block(ax: Axes, mark: Bool[np.ndarray, "back across down"], color: str) -> None:
    """The front, the right side and the top of a block; marked cells in the color."""
    N, C, P = mark.shape
    faces = [(mark[0, c, p], c * ACROSS + (P - 1 - p) * UP, ACROSS, UP) for c, p in np.ndindex(C, P)]
    right, top = C * ACROSS + (P - 1) * UP, P * UP
    faces += [(mark[n, -1, p], right - p * UP + n * BACK, BACK, UP) for n, p in np.ndindex(N, P)]
    faces += [(mark[n, c, 0], top + c * ACROSS + n * BACK, ACROSS, BACK) for n, c in np.ndindex(N, C)]
    for marked, corner, one, two in faces:
        square = np.array([corner, corner + one, corner + one + two, corner + two])
        fill = to_rgba(color, 0.75) if marked else "none"
        ax.add_patch(Polygon(square, closed=True, fc=fill, ec=INK, lw=0.8))


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

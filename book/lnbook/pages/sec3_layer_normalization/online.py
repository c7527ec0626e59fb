"""Section 3: learning from one case at a time; what layer norm couples, and what passes backward."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.figures import plots
from lnbook.shared.shift import Cases
from lnbook.training import torch_threads


def learn(
    norm: Callable[..., Tensor], train: Cases, test: Cases, seed: int, *, cases: int
) -> tuple[float, float]:
    """Learn from so many cases one at a time: share of wrong test answers, move of the hidden weights."""
    generator = torch.Generator().manual_seed(seed)
    D, H = train[0].shape[1], 100
    W, V = (torch.randn(o, i, generator=generator) / i**0.5 for i, o in ((D, H), (H, 10)))
    parameters = [p.requires_grad_() for p in (W, torch.ones(H), torch.zeros(H), V)]
    start = W.detach().clone()

    def logits(x: Tensor) -> Tensor:
        return torch.relu(norm(x @ W.T, parameters[1], parameters[2])) @ V.T

    with torch_threads(1):  # tensors of one case are too small to share
        for n in torch.randperm(len(train[0]), generator=generator)[:cases].tolist():
            loss = cross_entropy(logits(train[0][n : n + 1]), train[1][n : n + 1])
            gradients = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                for p, gradient in zip(parameters, gradients, strict=True):
                    p -= 0.02 * gradient
    with torch.no_grad():
        wrong = logits(test[0]).argmax(1) != test[1]
        return float(wrong.double().mean()), float((W - start).norm())


def couplings(derivatives: Mapping[str, Float[Tensor, "outputs inputs"]], cases: int) -> Figure:
    """Absolute derivatives as pictures, one method beside the other; lines separate the cases."""
    fig, axes = plots.subplots(1, len(derivatives), figsize=(7.2, 3.6))
    for ax, (method, J) in zip(axes, derivatives.items(), strict=True):
        n = len(J)
        picture = np.full((n, n, 4), to_rgba(plots.COLORS[method]))
        picture[..., 3] = (J.abs() / J.abs().max()).sqrt()
        ax.imshow(picture, extent=(0, n, n, 0), interpolation="nearest")
        middle, names = (np.arange(cases) + 0.5) * n / cases, [f"case {k + 1}" for k in range(cases)]
        ax.set(title=f"{method} norm", xlabel="input that changes", xticks=middle, yticks=middle)
        ax.set(xticklabels=names, yticklabels=names)
        for edge in np.arange(1, cases) * n / cases:
            ax.axvline(edge, color=plots.INK, lw=0.8)
            ax.axhline(edge, color=plots.INK, lw=0.8)
        ax.grid(False)
        ax.tick_params(length=0)
    axes[0].set_ylabel("output that moves")
    return fig


def projection(
    cloud: Float[Tensor, "N 3"], four: Float[Tensor, "4 3"], spectra: Mapping[str, Sequence[float]]
) -> Figure:
    """Left, three units seen along (1, 1, 1): cases; and one, its output, a gradient, what passes of it."""
    plane = torch.tensor([[1.0, -1.0, 0.0], [1.0, 1.0, -2.0]], dtype=cloud.dtype)
    plane = plane / plane.norm(dim=1, keepdim=True)  # an orthonormal basis of the plane perpendicular to 1
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.4), width_ratios=(5, 4))
    turn, blue = np.linspace(0, 2 * np.pi, 200), plots.COLORS["layer"]
    left.plot(3**0.5 * np.cos(turn), 3**0.5 * np.sin(turn), color=blue)
    left.plot(*(cloud @ plane.T).T.numpy(), ".", color=plots.COLORS["none"], ms=4)
    start, end, arrow, kept = (four @ plane.T).numpy()
    left.plot([0, start[0]], [0, start[1]], ":", color=plots.INK, lw=1.2)
    for text, tip, color, offset in (
        ("gradient", arrow, plots.INK, (4, -2)),
        ("what passes", kept, blue, (-74, 2)),
    ):
        style = {"arrowstyle": "-|>", "color": color, "lw": 1.8, "shrinkA": 0, "shrinkB": 0}
        left.annotate("", end + tip, end, arrowprops=style)
        left.annotate(text, end + tip, offset, textcoords="offset points", color=color)
    left.plot(*np.array([end + arrow, end + kept]).T, ":", color=plots.INK, lw=1.2)
    for point, text, color in ((start, "$d$", plots.INK), (end, r"$\hat a$", blue)):
        left.plot(*point, "o", color=color)
        left.annotate(text, point, (7, -10), textcoords="offset points")
    left.set(aspect="equal", xlim=(-2.9, 3.3), ylim=(-2.6, 3), xticks=[], yticks=[])
    left.spines[:].set_visible(False)
    left.set_title("three units, seen along (1, 1, 1)")
    for (method, values), shift, mark in zip(spectra.items(), (-0.12, 0.12), "os", strict=True):
        name = {"layer": "layer norm", "rms": "RMSNorm"}[method]
        place = np.arange(1, len(values) + 1)[-8:]
        right.plot(place + shift, values[-8:], mark, color=plots.COLORS[method], label=name)
    right.set(xlabel="singular value", title=r"derivative, times $\sigma$ (or rms)", ylim=(-0.1, 1.15))
    right.set_xticks(place)
    right.legend(loc="center left")
    return fig

"""The appendix: the metric along magnitudes, for many models, and after a change of scale."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnlib.fisher import FisherOperator, gain_metric, kl
from lnlib.glm import GLM

DISPERSIONS = {"gaussian": 0.5, "bernoulli": 1.0, "poisson": 2.0, "gamma": 0.25, "categorical": 1.0}


def models(norm: str | None, seed: int) -> Iterator[GLM]:
    """45 random models: five families, gains 1/2, 1 and 2, biases -1, 0 and 1; without a norm W has the gain.

    Gamma outputs need a negative natural parameter and get a bias 20 lower.
    """
    generator = torch.Generator().manual_seed(seed)
    for family, g, b in product(DISPERSIONS, (0.5, 1.0, 2.0), (-1.0, 0.0, 1.0)):
        W = torch.randn(4, 3, generator=generator, dtype=torch.float64) / 2
        bias = torch.full((4,), b - 20 * (family == "gamma"), dtype=torch.float64)
        gain = None if norm is None else torch.full_like(bias, g)
        yield GLM(family, W if norm else g * W, bias, DISPERSIONS[family], norm, gain)


def two_other_ways(glm: GLM, X: Float[Tensor, "N D"], growth: Float[Tensor, " H"]) -> tuple[float, float]:
    """Squared length of the magnitudes' step, by the model's Fisher matrix and the divergence's curvature."""
    rows = glm.W / glm.W.norm(dim=1, keepdim=True) if glm.norm is None else 0 * glm.W
    step = glm.pack(growth[:, None] * rows, 0 * glm.b, None if glm.norm is None else growth)
    bend = torch.func.grad(torch.func.grad(lambda t: kl(glm, glm.with_theta(glm.theta + t * step), X)))
    return float(step @ (FisherOperator(glm, X) @ step)) / 2, float(bend(torch.zeros_like(X[0, 0]))) / 2


def true_over_printed(
    family: str, g: float, b: float, a: Float[Tensor, "N units"], weights: Float[Tensor, " N"] | None = None
) -> Float[Tensor, " units"]:
    """Batch norm's metric along each gain over Eq. (32), the columns of `a` being the summed inputs."""
    units = torch.eye(a.shape[1], dtype=a.dtype)
    glm = GLM(family, units, b * units.sum(0), norm="batch", gain=g * units.sum(0))
    true, printed = (
        torch.stack([gain_metric(glm, a, unit, weights, printed=as_printed) for unit in units])
        for as_printed in (False, True)
    )
    return true / printed


def lost_factor(
    gains: Sequence[float],
    theory: Mapping[str, Sequence[float]],
    places: Sequence[float],
    measured: Mapping[str, Float[Tensor, "units gains"]],
) -> Figure:
    """True metric over Eq. (32) against the gain: lines for a normal input, bars for units on real data."""
    fig, ax = plots.subplots(figsize=(7.2, 3.1))
    for name, values in theory.items():
        ax.semilogy(gains, values, color=plots.INK, lw=1.4)
        on.name(ax, name, gains, values, (14, 0), color=plots.INK, va="center")
    for marker, ratio in zip("os", measured.values(), strict=True):
        middle, (low, high) = ratio.median(0).values, ratio.aminmax(dim=0)
        error = torch.stack([middle - low, high - middle]).numpy()
        color = plots.COLORS["batch"]
        ax.errorbar(places, middle.numpy(), error, fmt=marker, color=color, ms=6, capsize=3, lw=1.4)
    ax.set(xlabel="gain $g$", ylabel="true metric over Eq. (32)", xlim=(0, gains[-1] * 1.04))
    ax.set_xticks([0, *places])
    on.plain(ax.yaxis)
    return fig

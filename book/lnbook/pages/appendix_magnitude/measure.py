"""The appendix: the metric along magnitudes, for many models, and after a change of scale."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import torch
from jaxtyping import Float
from numpy.polynomial.hermite_e import hermegauss
from torch import Tensor

from lnlib.fisher import FisherOperator, gain_metric, kl, standard_magnitude_metric
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


def growing(glm: GLM, growth: Float[Tensor, " H"]) -> Float[Tensor, " P"]:
    """The step that changes the magnitudes only: the gains, or each row along itself."""
    rest = torch.zeros_like(glm.b)
    if glm.norm is not None:
        return glm.pack(torch.zeros_like(glm.W), rest, growth)
    return glm.pack(growth[:, None] * glm.W / glm.W.norm(dim=1, keepdim=True), rest, None)


def two_other_ways(glm: GLM, X: Float[Tensor, "N D"], growth: Float[Tensor, " H"]) -> tuple[float, float]:
    """Squared length of that step: by the whole model's Fisher matrix, and by the divergence's curvature."""
    step, t = growing(glm, growth), torch.zeros((), dtype=X.dtype, requires_grad=True)
    divergence = kl(glm, glm.with_theta(glm.theta + t * step), X)
    (slope,) = torch.autograd.grad(divergence, t, create_graph=True)
    (bend,) = torch.autograd.grad(slope, t)
    return float(step @ (FisherOperator(glm, X) @ step)) / 2, float(bend) / 2


def metric(glm: GLM, X: Float[Tensor, "N D"]) -> float:
    """Squared length of the step in which all magnitudes grow by 1."""
    along = standard_magnitude_metric if glm.norm is None else gain_metric
    return float(along(glm, X, torch.ones_like(glm.b)))


def rescaled(glm: GLM, weights: float = 1.0, gain: float = 1.0) -> GLM:
    """The model with its weights and its gains multiplied."""
    return replace(glm, W=weights * glm.W, gain=None if glm.gain is None else gain * glm.gain)


def normal_cases() -> tuple[Float[Tensor, "nodes 1"], Float[Tensor, " nodes"]]:
    """Weighted cases whose only feature is standard normal: nodes and weights of Gauss-Hermite quadrature."""
    at, weights = (torch.from_numpy(v) for v in hermegauss(120))
    return at[:, None], weights / weights.sum()


def true_over_printed(
    family: str,
    g: float,
    b: float,
    a: Float[Tensor, "N units"],
    weights: Float[Tensor, " N"] | None = None,
) -> Float[Tensor, " units"]:
    """Batch norm's metric along each gain over Eq. (32), the columns of `a` being the summed inputs."""
    units = torch.eye(a.shape[1], dtype=a.dtype)
    ones = torch.ones(a.shape[1], dtype=a.dtype)
    glm = GLM(family, units, b * ones, norm="batch", gain=g * ones)
    true, printed = (
        torch.stack([gain_metric(glm, a, unit, weights, printed=as_printed) for unit in units])
        for as_printed in (False, True)
    )
    return true / printed

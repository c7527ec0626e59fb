r"""What every family of outputs offers, and what several of them compute with.

A divergence between near neighbors is of second order in their distance. It keeps all its digits only if the
zeroth and first order are taken off on paper, not in floating point: that is what :func:`exp_excess` and
:func:`log_mean_exp` are for.
"""

import math
from abc import ABC, abstractmethod

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from lnlib.glm.covariance import OutputCovariance

__all__ = ["Family", "check_positive", "check_real", "exp_excess", "log_mean_exp"]


class Family(ABC):
    r"""Distributions of one case's outputs given its natural parameters `z` of shape (N, H).

    What depends on the dispersion takes it as `phi`: a number, or an (H, H) matrix for Gaussian outputs.
    """

    name: str

    def check_dispersion(self, phi: float | Tensor) -> None:
        """Refuse a dispersion for which no such distribution exists."""
        if isinstance(phi, Tensor) or phi != 1:
            raise ValueError(
                f"dispersion of {self.name} outputs is {shown(phi)}; no such distribution exists, "
                "leave it 1 (binomial with trials=n has n times Bernoulli's variance)"
            )

    def check_domain(self, z: Float[Tensor, "N H"]) -> None:
        """Refuse natural parameters outside the natural domain."""
        if not bool(torch.isfinite(z).all()):
            raise ValueError(
                f"natural parameters of {self.name} outputs overflow {z.dtype}; scale the features or the "
                "weights down, or use float64"
            )

    @abstractmethod
    def check_outcome(self, y: Tensor, z: Float[Tensor, "N H"], phi: float | Tensor) -> None:
        """Refuse outcomes outside the support."""

    @abstractmethod
    def log_likelihood(
        self, y: Shaped[Tensor, "N *H"], z: Float[Tensor, "N H"], phi: float | Tensor
    ) -> Float[Tensor, " N"]:
        r"""$\log P(y\mid z)$ of each case, base measure included."""

    @abstractmethod
    def mean(self, z: Float[Tensor, "N H"]) -> Float[Tensor, "N H"]:
        r"""$\nabla\eta(z)$."""

    @abstractmethod
    def scaled_covariance(self, z: Float[Tensor, "N H"], phi: float | Tensor) -> OutputCovariance:
        r"""$\mathrm{Cov}[y\mid z]/\phi^2 = \nabla^2\eta(z)/\phi$, the factor of Eq. (12)."""

    @abstractmethod
    def kl(
        self, z: Float[Tensor, "N H"], other: Float[Tensor, "N H"], phi: float | Tensor
    ) -> Float[Tensor, " N"]:
        r"""$D_{KL}[P(\cdot\mid z)\,\|\,P(\cdot\mid z')]$ of each case, accurate also where $z'\approx z$."""

    @abstractmethod
    def sample(
        self, z: Float[Tensor, "N H"], phi: float | Tensor, generator: torch.Generator | None
    ) -> Shaped[Tensor, "N *H"]:
        """One outcome for each case."""


def exp_excess(d: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """$e^d - 1 - d$, to full relative precision also where it is $d^2/2$.

    >>> exp_excess(torch.tensor([1e-6, 1.0]))
    tensor([5.0000e-13, 7.1828e-01])
    """
    near = d.abs() < 0.5
    x, total = torch.where(near, d, 0.0), torch.ones_like(d)
    for k in range(16, 2, -1):  # at |x| = 1/2 the next term is 1e-17 of the first
        total = 1 + x / k * total
    y = torch.where(near, 1.0, d)
    return torch.where(near, x * x / 2 * total, torch.expm1(y) - y)


def log_mean_exp(log_p: Float[Tensor, "*shape K"], d: Float[Tensor, "*shape K"]) -> Float[Tensor, "*shape"]:
    r"""$\log\sum_k p_k e^{d_k}$ for `d` whose mean under p is 0, however small or large.

    $\sum_k p_k d_k = 0$ makes it $\log\big(1 + \sum_k p_k(e^{d_k} - 1 - d_k)\big)$, a sum of positive terms.
    """
    p, up = log_p.exp(), log_p + d
    low = d < 1
    excess = torch.where(
        low,
        p * exp_excess(torch.where(low, d, 0.0)),
        torch.exp(up.clamp(max=4.0)) - p * (1 + d),  # p may underflow where p exp(d) does not
    ).sum(-1)
    large = up.amax(-1) > 4
    return torch.where(large, torch.logsumexp(up, -1), torch.log1p(torch.where(large, 0.0, excess)))


def shown(phi: float | Tensor) -> str:
    """A dispersion as an error message shows it."""
    return f"a tensor of shape {tuple(phi.shape)}" if isinstance(phi, Tensor) else f"{phi}"


def check_positive(name: str, phi: float | Tensor) -> None:
    """Refuse a dispersion that is not a positive number."""
    if isinstance(phi, Tensor) or not 0 < phi < math.inf:
        raise ValueError(f"dispersion of {name} outputs is {shown(phi)}; give a positive number")


def check_real(name: str, y: Tensor, z: Tensor) -> None:
    """Refuse outcomes that are not one finite number a case and unit."""
    if y.shape != z.shape:
        raise ValueError(
            f"{name} outcomes have shape {tuple(y.shape)}; give one a case and unit: {tuple(z.shape)}"
        )
    if not bool(torch.isfinite(y).all()):
        raise ValueError(f"{name} outcomes contain NaN or infinity; remove those cases")

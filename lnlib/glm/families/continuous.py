"""Continuous outputs: Gaussian and gamma."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from lnlib.glm.covariance import OutputCovariance
from lnlib.glm.families.base import Family, check_positive, check_real, exp_excess

__all__ = ["Gamma", "Gaussian"]


@dataclass(frozen=True)
class Gaussian(Family):
    r"""$\eta(z) = z^2/2$: mean $z$; the dispersion is the variance, or the outputs' covariance matrix."""

    name = "gaussian"

    def check_dispersion(self, phi: float | Tensor) -> None:
        if not isinstance(phi, Tensor):
            return check_positive(self.name, phi)
        if not _is_symmetric(phi) or torch.linalg.cholesky_ex(phi).info != 0:
            raise ValueError(
                f"dispersion of gaussian outputs is a matrix of shape {tuple(phi.shape)} that is no "
                "covariance; give a positive number or a symmetric positive definite (H, H) matrix"
            )

    def check_outcome(self, y: Tensor, z: Tensor, phi: float | Tensor) -> None:
        check_real(self.name, y, z)

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float | Tensor) -> Tensor:
        logdet = torch.logdet(phi) if isinstance(phi, Tensor) else z.shape[1] * math.log(phi)
        return -self.kl(z, y.to(z.dtype), phi) - logdet / 2 - z.shape[1] * math.log(2 * math.pi) / 2

    def mean(self, z: Tensor) -> Tensor:
        return z

    def scaled_covariance(self, z: Tensor, phi: float | Tensor) -> OutputCovariance:
        if isinstance(phi, Tensor):
            inverse = torch.linalg.inv(phi)
            return OutputCovariance(matrix=(inverse + inverse.mT) / 2, cases=len(z))
        return OutputCovariance(diagonal=torch.full_like(z, 1 / phi), cases=len(z))

    def kl(self, z: Tensor, other: Tensor, phi: float | Tensor) -> Tensor:
        d = other - z
        if isinstance(phi, Tensor):
            return 0.5 * (d * torch.linalg.solve(phi, d.mT).mT).sum(-1)
        return 0.5 * (d * d).sum(-1) / phi

    def sample(self, z: Tensor, phi: float | Tensor, generator: torch.Generator | None) -> Tensor:
        noise = torch.empty_like(z).normal_(generator=generator)
        if isinstance(phi, Tensor):
            return z + noise @ torch.linalg.cholesky(phi).mT
        return z + math.sqrt(phi) * noise


@dataclass(frozen=True)
class Gamma(Family):
    r"""$\eta(z) = -\log(-z)$ for $z<0$: mean $-1/z$, variance $\phi/z^2$, shape $1/\phi$ (canonical link)."""

    name = "gamma"

    def check_dispersion(self, phi: float | Tensor) -> None:
        check_positive(self.name, phi)

    def check_domain(self, z: Tensor) -> None:
        super().check_domain(z)
        if bool((z >= 0).any()):
            raise ValueError(
                f"gamma outputs with the canonical link need z < 0 and z reaches {z.max():g}; "
                "lower the bias or the gain until gain * normalized input + bias is negative for every case"
            )

    def check_outcome(self, y: Tensor, z: Tensor, phi: float | Tensor) -> None:
        check_real(self.name, y, z)
        if bool((y <= 0).any()):
            raise ValueError(
                f"gamma outcomes reach down to {y.min():g}; they are positive, remove the others"
            )

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float | Tensor) -> Tensor:
        y, shape = y.to(z.dtype), 1 / phi
        base = (shape - 1) * torch.log(y) + shape * math.log(shape) - math.lgamma(shape)
        return ((z * y + torch.log(-z)) * shape + base).sum(-1)

    def mean(self, z: Tensor) -> Tensor:
        return -1 / z

    def scaled_covariance(self, z: Tensor, phi: float | Tensor) -> OutputCovariance:
        return OutputCovariance(diagonal=1 / (z * z * phi), cases=len(z))

    def kl(self, z: Tensor, other: Tensor, phi: float | Tensor) -> Tensor:
        r = (other - z) / z
        near = r.abs() < 0.5
        log_ratio = torch.where(
            near, torch.log1p(torch.where(near, r, 0.0)), torch.log(torch.where(near, 1.0, other / z))
        )
        return exp_excess(log_ratio).sum(-1) / phi  # z'/z - 1 - log(z'/z)

    def sample(self, z: Tensor, phi: float | Tensor, generator: torch.Generator | None) -> Tensor:
        shape = torch.full_like(z, 1 / float(phi))
        draws = torch._standard_gamma(shape, generator=generator) * phi / -z
        return draws.clamp(min=torch.finfo(z.dtype).tiny)  # a small shape underflows to 0


def _is_symmetric(phi: Tensor) -> bool:
    """Up to the roundings of a product A A'."""
    if phi.ndim != 2 or phi.shape[0] != phi.shape[1]:
        return False
    slack = 8 * len(phi) * torch.finfo(phi.dtype).eps
    return bool((phi - phi.mT).abs().max() <= slack * phi.abs().max())

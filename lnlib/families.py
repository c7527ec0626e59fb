r"""Exponential families of outputs: Eqs. (10) and (11), for one case or many.

$\log P(y\mid z) = \frac{z^\top y - \eta(z)}{\phi} + c(y, \phi)$ with natural parameter $z$, log partition
function $\eta$, dispersion $\phi$ and base measure $c$. The mean is $\nabla\eta(z)$ and the covariance
$\phi\nabla^2\eta(z)$.

=================  ==========================================  ==================  =======================
family             outcome `y`                                 dispersion          natural domain
=================  ==========================================  ==================  =======================
gaussian           (N, H) real                                 variance or matrix  all
bernoulli          (N, H) in {0, 1}                            1                   all
binomial           (N, H) counts out of `trials`               1                   all
poisson            (N, H) multiples of the dispersion          positive            all (rate representable)
gamma              (N, H) positive                             1 / shape           z < 0
categorical        (N,) class 0 .. H-1, or 0 .. H with a       1                   all
                   reference class H whose logit is 0
=================  ==========================================  ==================  =======================

*Erratum* below Eq. (11) the paper calls $c$ the log partition function; $\eta$ is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor

from lnlib.covariance import OutputCovariance

__all__ = ["FAMILIES", "Bernoulli", "Binomial", "Categorical", "Family", "Gamma", "Gaussian", "Poisson"]


class Family(ABC):
    r"""Distributions of one case's outputs given its natural parameters `z` of shape (N, H).

    Methods that depend on the dispersion take it as `phi`: a number, or for Gaussian outputs an (H, H) matrix.
    """

    name: str

    def check_dispersion(self, phi: float | Tensor) -> None:
        """Refuse a dispersion for which no such distribution exists."""
        if isinstance(phi, Tensor) or phi != 1:
            raise ValueError(
                f"dispersion of {self.name} outputs is {_shown(phi)}; no such distribution exists, leave it 1 "
                "(binomial with trials=n has n times Bernoulli's variance)"
            )

    def check_domain(self, z: Float[Tensor, "N H"]) -> None:
        """Refuse natural parameters outside the natural domain."""

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


@dataclass(frozen=True)
class Gaussian(Family):
    r"""$\eta(z) = z^2/2$: mean $z$; the dispersion is the variance, or the covariance matrix of the outputs."""

    name = "gaussian"

    def check_dispersion(self, phi: float | Tensor) -> None:
        if not isinstance(phi, Tensor):
            return _check_positive(self.name, phi)
        if phi.ndim != 2 or not torch.equal(phi, phi.mT) or torch.linalg.cholesky_ex(phi).info != 0:
            raise ValueError(
                f"dispersion of gaussian outputs has shape {tuple(phi.shape)}; "
                "give a positive number or a symmetric positive definite (H, H) covariance"
            )

    def check_outcome(self, y: Tensor, z: Tensor, phi: float | Tensor) -> None:
        _check_real(self.name, y, z)

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float | Tensor) -> Tensor:
        logdet = (
            torch.logdet(2 * math.pi * phi)
            if isinstance(phi, Tensor)
            else z.shape[1] * math.log(2 * math.pi * phi)
        )
        return -self.kl(z, y.to(z.dtype), phi) - logdet / 2

    def mean(self, z: Tensor) -> Tensor:
        return z

    def scaled_covariance(self, z: Tensor, phi: float | Tensor) -> OutputCovariance:
        if isinstance(phi, Tensor):
            return OutputCovariance(matrix=torch.linalg.inv(phi), cases=len(z))
        return OutputCovariance(diagonal=torch.full_like(z, 1 / phi))

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
class Binomial(Family):
    r"""$\eta(z) = n\log(1+e^z)$: counts out of `trials` with success probability $1/(1+e^{-z})$."""

    trials: int = 1
    name = "binomial"

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise ValueError(f"trials is {self.trials}; a binomial outcome counts successes of at least 1")

    def check_outcome(self, y: Tensor, z: Tensor, phi: float | Tensor) -> None:
        _check_real(self.name, y, z)
        if bool(((y < 0) | (y > self.trials) | (y != y.round())).any()):
            raise ValueError(
                f"{self.name} outcomes lie in [{y.min():g}, {y.max():g}]; give whole numbers in 0..{self.trials}"
            )

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float | Tensor) -> Tensor:
        y, n = y.to(z.dtype), z.new_tensor(float(self.trials))
        choose = torch.lgamma(n + 1) - torch.lgamma(y + 1) - torch.lgamma(n - y + 1)
        # y log p + (n - y) log(1 - p), each term by its own log sigmoid
        return (y * F.logsigmoid(z) + (n - y) * F.logsigmoid(-z) + choose).sum(-1)

    def mean(self, z: Tensor) -> Tensor:
        return self.trials * torch.sigmoid(z)

    def scaled_covariance(self, z: Tensor, phi: float | Tensor) -> OutputCovariance:
        return OutputCovariance(diagonal=self.trials * torch.sigmoid(z) * torch.sigmoid(-z))

    def kl(self, z: Tensor, other: Tensor, phi: float | Tensor) -> Tensor:
        # log(q + p e^d) - p d, from the side on which p <= 1/2; expm1 where nothing can overflow
        d, p = other - z, torch.sigmoid(-z.abs())
        d = torch.where(z > 0, -d, d)
        near = d.abs() < 1
        close = torch.log1p(p * torch.expm1(torch.where(near, d, 0.0)))
        far = torch.logaddexp(F.logsigmoid(z.abs()), F.logsigmoid(-z.abs()) + d)
        return self.trials * (torch.where(near, close, far) - p * d).sum(-1)

    def sample(self, z: Tensor, phi: float | Tensor, generator: torch.Generator | None) -> Tensor:
        n = torch.full_like(z, float(self.trials))
        return torch.binomial(n, torch.sigmoid(z), generator=generator)


@dataclass(frozen=True)
class Bernoulli(Binomial):
    r"""One trial: $\eta(z) = \log(1+e^z)$."""

    name = "bernoulli"


@dataclass(frozen=True)
class Poisson(Family):
    r"""$\eta(z) = e^z$: mean $e^z$, variance $\phi e^z$; $y/\phi$ counts with rate $e^z/\phi$."""

    name = "poisson"

    def check_dispersion(self, phi: float | Tensor) -> None:
        _check_positive(self.name, phi)

    def check_domain(self, z: Tensor) -> None:
        limit = math.log(torch.finfo(z.dtype).max)
        if bool((z > limit).any()):
            raise ValueError(
                f"poisson rate exp(z) overflows {z.dtype} at z = {z.max():g}; keep z below {limit:.0f} "
                "(scale the features or the gain down)"
            )

    def check_outcome(self, y: Tensor, z: Tensor, phi: float | Tensor) -> None:
        _check_real(self.name, y, z)
        counts = y / phi
        off = (counts - counts.round()).abs() > 8 * torch.finfo(z.dtype).eps * counts.abs().clamp(min=1)
        if bool((off | (y < 0)).any()):
            raise ValueError(
                f"poisson outcomes lie in [{y.min():g}, {y.max():g}]; give whole multiples >= 0 of the "
                f"dispersion {phi}"
            )

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float | Tensor) -> Tensor:
        k = y.to(z.dtype) / phi
        base = -k * math.log(phi) - torch.lgamma(k + 1)  # c(y, phi)
        return (k * z - torch.exp(z) / phi + base).sum(-1)

    def mean(self, z: Tensor) -> Tensor:
        return torch.exp(z)

    def scaled_covariance(self, z: Tensor, phi: float | Tensor) -> OutputCovariance:
        return OutputCovariance(diagonal=torch.exp(z) / phi)

    def kl(self, z: Tensor, other: Tensor, phi: float | Tensor) -> Tensor:
        d = other - z
        return (torch.exp(z) * (torch.expm1(d) - d)).sum(-1) / phi

    def sample(self, z: Tensor, phi: float | Tensor, generator: torch.Generator | None) -> Tensor:
        return phi * torch.poisson(torch.exp(z) / phi, generator=generator)


@dataclass(frozen=True)
class Gamma(Family):
    r"""$\eta(z) = -\log(-z)$ for $z<0$: mean $-1/z$, variance $\phi/z^2$, shape $1/\phi$ (canonical link)."""

    name = "gamma"

    def check_dispersion(self, phi: float | Tensor) -> None:
        _check_positive(self.name, phi)

    def check_domain(self, z: Tensor) -> None:
        if bool((z >= 0).any()):
            raise ValueError(
                f"gamma outputs with the canonical link need z < 0 and z reaches {z.max():g}; "
                "lower the bias or the gain until gain * normalized input + bias is negative for every case"
            )

    def check_outcome(self, y: Tensor, z: Tensor, phi: float | Tensor) -> None:
        _check_real(self.name, y, z)
        if bool((y <= 0).any()):
            raise ValueError(f"gamma outcomes reach down to {y.min():g}; they are positive")

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float | Tensor) -> Tensor:
        y, shape = y.to(z.dtype), 1 / phi
        base = (shape - 1) * torch.log(y) + shape * math.log(shape) - math.lgamma(shape)
        return ((z * y + torch.log(-z)) * shape + base).sum(-1)

    def mean(self, z: Tensor) -> Tensor:
        return -1 / z

    def scaled_covariance(self, z: Tensor, phi: float | Tensor) -> OutputCovariance:
        return OutputCovariance(diagonal=1 / (z * z * phi))

    def kl(self, z: Tensor, other: Tensor, phi: float | Tensor) -> Tensor:
        r = (other - z) / z  # other / z = 1 + r
        return (r - torch.log1p(r)).sum(-1) / phi

    def sample(self, z: Tensor, phi: float | Tensor, generator: torch.Generator | None) -> Tensor:
        shape = torch.full_like(z, 1 / phi)
        return torch._standard_gamma(shape, generator=generator) * phi / -z


@dataclass(frozen=True)
class Categorical(Family):
    r"""$\eta(z) = \log\sum_k e^{z_k}$ over the H logits, and over a last class of logit 0 with `reference`."""

    reference: bool = False
    name = "categorical"

    def check_outcome(self, y: Tensor, z: Tensor, phi: float | Tensor) -> None:
        classes = z.shape[1] + self.reference
        if y.shape != z.shape[:1] or y.is_floating_point():
            raise ValueError(
                f"categorical outcomes have shape {tuple(y.shape)} and dtype {y.dtype}; "
                f"give {len(z)} integer classes in 0..{classes - 1}"
            )
        if y.numel() and not 0 <= int(y.min()) <= int(y.max()) < classes:
            raise ValueError(
                f"categorical outcomes lie in {int(y.min())}..{int(y.max())}; classes are 0..{classes - 1}"
            )

    def _log_probabilities(self, z: Tensor) -> Tensor:
        return F.log_softmax(F.pad(z, (0, 1)) if self.reference else z, -1)

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float | Tensor) -> Tensor:
        return self._log_probabilities(z).gather(-1, y.long()[:, None]).squeeze(-1)

    def mean(self, z: Tensor) -> Tensor:
        return self._log_probabilities(z)[:, : z.shape[1]].exp()

    def scaled_covariance(self, z: Tensor, phi: float | Tensor) -> OutputCovariance:
        p = self._log_probabilities(z).exp()
        rest = p[:, -1] if self.reference else torch.zeros_like(p[:, 0])
        p = p[:, : z.shape[1]]
        return OutputCovariance(diagonal=p, outer=p, rest=rest)

    def kl(self, z: Tensor, other: Tensor, phi: float | Tensor) -> Tensor:
        log_p = self._log_probabilities(z)
        d = other - z
        if self.reference:
            d = F.pad(d, (0, 1))
        d = d - (log_p.exp() * d).sum(-1, keepdim=True)  # E[d] = 0, so KL = log E[exp(d)]
        near = d.abs().amax(-1, keepdim=True) < 1
        close = torch.log1p((log_p.exp() * torch.expm1(torch.where(near, d, 0.0))).sum(-1))
        return torch.where(near.squeeze(-1), close, torch.logsumexp(log_p + d, -1))

    def sample(self, z: Tensor, phi: float | Tensor, generator: torch.Generator | None) -> Tensor:
        return torch.multinomial(self._log_probabilities(z).exp(), 1, generator=generator).squeeze(-1)


FAMILIES = ("gaussian", "bernoulli", "binomial", "poisson", "gamma", "categorical")


def _shown(phi: float | Tensor) -> str:
    return f"a tensor of shape {tuple(phi.shape)}" if isinstance(phi, Tensor) else f"{phi}"


def _check_positive(name: str, phi: float | Tensor) -> None:
    if isinstance(phi, Tensor) or not (0 < phi < math.inf):
        raise ValueError(f"dispersion of {name} outputs is {_shown(phi)}; give a positive number")


def _check_real(name: str, y: Tensor, z: Tensor) -> None:
    if y.shape != z.shape:
        raise ValueError(
            f"{name} outcomes have shape {tuple(y.shape)}; give one a case and unit: {tuple(z.shape)}"
        )
    if not bool(torch.isfinite(y).all()):
        raise ValueError(f"{name} outcomes contain NaN or infinity; remove those cases")

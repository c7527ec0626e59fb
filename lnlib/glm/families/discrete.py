"""Discrete outputs: Bernoulli, binomial, Poisson and categorical."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from lnlib.glm.covariance import OutputCovariance
from lnlib.glm.families.base import Family, check_positive, check_real, exp_excess, log_mean_exp

__all__ = ["Bernoulli", "Binomial", "Categorical", "Poisson"]


@dataclass(frozen=True)
class Binomial(Family):
    r"""$\eta(z) = n\log(1+e^z)$: counts out of `trials` with success probability $1/(1+e^{-z})$."""

    trials: int = 1
    name = "binomial"

    def __post_init__(self) -> None:
        if not isinstance(self.trials, int) or self.trials < 1:
            raise ValueError(f"trials is {self.trials}; a binomial outcome counts successes of 1, 2, ...")

    def check_outcome(self, y: Tensor, z: Tensor, phi: float | Tensor) -> None:
        check_real(self.name, y, z)
        y = y.to(z.dtype)  # also from true and false
        if bool(((y < 0) | (y > self.trials) | (y != y.round())).any()):
            raise ValueError(
                f"{self.name} outcomes lie in [{y.min():g}, {y.max():g}]; "
                f"give whole numbers in 0..{self.trials}"
            )

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float | Tensor) -> Tensor:
        y, n = y.to(z.dtype), z.new_tensor(float(self.trials))
        choose = torch.lgamma(n + 1) - torch.lgamma(y + 1) - torch.lgamma(n - y + 1)
        # y log p + (n - y) log(1 - p), each term by its own log sigmoid
        return (y * F.logsigmoid(z) + (n - y) * F.logsigmoid(-z) + choose).sum(-1)

    def mean(self, z: Tensor) -> Tensor:
        return self.trials * torch.sigmoid(z)

    def scaled_covariance(self, z: Tensor, phi: float | Tensor) -> OutputCovariance:
        variance = self.trials * torch.sigmoid(z) * torch.sigmoid(-z)
        return OutputCovariance(diagonal=variance, cases=len(z))

    def kl(self, z: Tensor, other: Tensor, phi: float | Tensor) -> Tensor:
        # log(p e^d + q) - p d = log(p e^(q d) + q e^(-p d)), whose exponents have mean 0
        d, both = other - z, torch.stack([z, -z], -1)
        centered = torch.sigmoid(-both) * torch.stack([d, -d], -1)
        return self.trials * log_mean_exp(F.logsigmoid(both), centered).sum(-1)

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
        check_positive(self.name, phi)

    def check_domain(self, z: Tensor) -> None:
        super().check_domain(z)
        limit = math.log(torch.finfo(z.dtype).max)
        if bool((z > limit).any()):
            raise ValueError(
                f"poisson rate exp(z) overflows {z.dtype} at z = {z.max():g}; keep z below {limit:.0f} "
                "(scale the features or the gain down)"
            )

    def check_outcome(self, y: Tensor, z: Tensor, phi: float | Tensor) -> None:
        check_real(self.name, y, z)
        counts = y.to(z.dtype) / phi
        off = (counts - counts.round()).abs() > 8 * torch.finfo(z.dtype).eps * counts.abs().clamp(min=1)
        if bool((off | (y < 0)).any()):
            raise ValueError(
                f"poisson outcomes lie in [{y.min():g}, {y.max():g}] and some are no counts; "
                f"give whole multiples >= 0 of the dispersion {phi}"
            )

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float | Tensor) -> Tensor:
        k = y.to(z.dtype) / phi
        base = -k * math.log(phi) - torch.lgamma(k + 1)  # c(y, phi)
        return (k * z - torch.exp(z) / phi + base).sum(-1)

    def mean(self, z: Tensor) -> Tensor:
        return torch.exp(z)

    def scaled_covariance(self, z: Tensor, phi: float | Tensor) -> OutputCovariance:
        return OutputCovariance(diagonal=torch.exp(z) / phi, cases=len(z))

    def kl(self, z: Tensor, other: Tensor, phi: float | Tensor) -> Tensor:
        d = other - z
        low = d < 1
        near = torch.exp(z) * exp_excess(torch.where(low, d, 0.0))
        far = torch.exp(other) - torch.exp(z) * (1 + d)  # exp(z) may underflow where exp(z + d) does not
        return torch.where(low, near, far).sum(-1) / phi

    def sample(self, z: Tensor, phi: float | Tensor, generator: torch.Generator | None) -> Tensor:
        return phi * torch.poisson(torch.exp(z) / phi, generator=generator)


@dataclass(frozen=True)
class Categorical(Family):
    r"""$\eta(z) = \log\sum_k e^{z_k}$ over the H logits; `reference` adds a last class whose logit is 0."""

    reference: bool = False
    name = "categorical"

    def check_outcome(self, y: Tensor, z: Tensor, phi: float | Tensor) -> None:
        classes = z.shape[1] + self.reference
        if y.shape != z.shape[:1] or y.is_floating_point():
            raise ValueError(
                f"categorical outcomes have shape {tuple(y.shape)} and dtype {y.dtype}; "
                f"give {len(z)} integer classes in 0..{classes - 1}"
            )
        if not 0 <= int(y.min()) <= int(y.max()) < classes:
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
        return OutputCovariance(diagonal=p, outer=p, rest=rest, cases=len(z))

    def kl(self, z: Tensor, other: Tensor, phi: float | Tensor) -> Tensor:
        log_p, d = self._log_probabilities(z), other - z
        if self.reference:
            d = F.pad(d, (0, 1))
        # Any shift leaves log E[exp(d)] - E[d]; the likeliest class at 0, no rounding of E[d] is seen.
        d = d - d.gather(-1, log_p.argmax(-1, keepdim=True))
        return log_mean_exp(log_p, d - (log_p.exp() * d).sum(-1, keepdim=True))

    def sample(self, z: Tensor, phi: float | Tensor, generator: torch.Generator | None) -> Tensor:
        return torch.multinomial(self._log_probabilities(z).exp(), 1, generator=generator).squeeze(-1)

r"""Exponential families of outputs: Eqs. (10) and (11), for one case or many.

$\log P(y\mid z) = \frac{z^\top y - \eta(z)}{\phi} + c(y, \phi)$ with natural parameter $z$, log partition
function $\eta$, dispersion $\phi$ and logarithm of the base measure $c$. The mean is $\nabla\eta(z)$ and the
covariance $\phi\nabla^2\eta(z)$.

=================  ==========================================  ==================  =======================
family             outcome `y`                                 dispersion          natural domain
=================  ==========================================  ==================  =======================
gaussian           (N, H) real                                 variance            all
bernoulli          (N, H) in {0, 1}                            1                   all
poisson            (N, H) multiples of the dispersion          positive            all (rate representable)
gamma              (N, H) positive                             1 / shape           z < 0
categorical        (N,) class 0 .. H-1                         1                   all
=================  ==========================================  ==================  =======================

*Erratum* below Eq. (11) the paper calls $c$ the log partition function; $\eta$ is.

A divergence between near neighbors is of second order in their distance. It keeps all its digits only if the
zeroth and first order are taken off on paper, not in floating point: that is what `exp_excess` and
`log_mean_exp` are for.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from jaxtyping import Float, Shaped
from torch import Tensor

from lnlib.glm.covariance import OutputCovariance

__all__ = ["FAMILIES", "Bernoulli", "Categorical", "Family", "Gamma", "Gaussian", "Poisson", "named_family"]

#: The names that :func:`named_family` knows.
FAMILIES = ("gaussian", "bernoulli", "poisson", "gamma", "categorical")


def named_family(name: str) -> "Family":
    """The family of that name.

    >>> named_family("poisson")
    Poisson()
    """
    if name not in FAMILIES:
        raise ValueError(f"family is {name!r}; use one of {', '.join(FAMILIES)}")
    families: tuple[type[Family], ...] = (Gaussian, Bernoulli, Poisson, Gamma, Categorical)
    return families[FAMILIES.index(name)]()


@dataclass(frozen=True)
class Family(ABC):
    r"""Distributions of one case's outputs given its natural parameters `z` of shape (N, H).

    What depends on the dispersion takes it as `phi`.
    """

    name: ClassVar[str]
    has_dispersion: ClassVar[bool] = True

    def check_dispersion(self, phi: float) -> None:
        """Refuse a dispersion for which no such distribution exists."""
        if not self.has_dispersion and phi != 1:
            raise ValueError(
                f"dispersion of {self.name} outputs is {phi}; no such distribution exists, leave it 1"
            )
        if not 0 < phi < math.inf:
            raise ValueError(f"dispersion of {self.name} outputs is {phi}; give a positive number")

    def check_domain(self, z: Float[Tensor, "N H"]) -> None:
        """Refuse natural parameters outside the natural domain."""
        if not bool(torch.isfinite(z).all()):
            raise ValueError(
                f"natural parameters of {self.name} outputs overflow {z.dtype}; scale the features or the "
                "weights down, or use float64"
            )

    def check_outcome(self, y: Tensor, z: Float[Tensor, "N H"], phi: float) -> None:
        """Refuse outcomes outside the support: here what is not one finite number a case and unit."""
        if y.shape != z.shape:
            raise ValueError(
                f"{self.name} outcomes have shape {tuple(y.shape)}; "
                f"give one a case and unit: {tuple(z.shape)}"
            )
        if not bool(torch.isfinite(y).all()):
            raise ValueError(f"{self.name} outcomes contain NaN or infinity; remove those cases")

    @abstractmethod
    def log_likelihood(
        self, y: Shaped[Tensor, "N *H"], z: Float[Tensor, "N H"], phi: float
    ) -> Float[Tensor, " N"]:
        r"""$\log P(y\mid z)$ of each case, base measure included."""

    @abstractmethod
    def mean(self, z: Float[Tensor, "N H"]) -> Float[Tensor, "N H"]:
        r"""$\nabla\eta(z)$."""

    @abstractmethod
    def scaled_covariance(self, z: Float[Tensor, "N H"], phi: float) -> OutputCovariance:
        r"""$\mathrm{Cov}[y\mid z]/\phi^2 = \nabla^2\eta(z)/\phi$, the factor of Eq. (12)."""

    @abstractmethod
    def kl(self, z: Float[Tensor, "N H"], other: Float[Tensor, "N H"], phi: float) -> Float[Tensor, " N"]:
        r"""$D_{KL}[P(\cdot\mid z)\,\|\,P(\cdot\mid z')]$ of each case, accurate also where $z'\approx z$."""


class Gaussian(Family):
    r"""$\eta(z) = z^2/2$: mean $z$; the dispersion is the variance."""

    name = "gaussian"

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float) -> Tensor:
        return -self.kl(z, y.to(z.dtype), phi) - z.shape[1] * math.log(2 * math.pi * phi) / 2

    def mean(self, z: Tensor) -> Tensor:
        return z

    def scaled_covariance(self, z: Tensor, phi: float) -> OutputCovariance:
        return OutputCovariance(torch.full_like(z, 1 / phi))

    def kl(self, z: Tensor, other: Tensor, phi: float) -> Tensor:
        return (other - z).square().sum(-1) / (2 * phi)


class Bernoulli(Family):
    r"""$\eta(z) = \log(1+e^z)$: true or false, 1 with probability $1/(1+e^{-z})$."""

    name = "bernoulli"
    has_dispersion = False

    def check_outcome(self, y: Tensor, z: Tensor, phi: float) -> None:
        super().check_outcome(y, z, phi)
        if not bool(((y == 0) | (y == 1)).all()):
            raise ValueError(f"bernoulli outcomes lie in [{y.min():g}, {y.max():g}]; give 0 and 1 only")

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float) -> Tensor:
        # y log p + (1 - y) log(1 - p), each term by its own log sigmoid
        y = y.to(z.dtype)
        return (y * F.logsigmoid(z) + (1 - y) * F.logsigmoid(-z)).sum(-1)

    def mean(self, z: Tensor) -> Tensor:
        return torch.sigmoid(z)

    def scaled_covariance(self, z: Tensor, phi: float) -> OutputCovariance:
        return OutputCovariance(torch.sigmoid(z) * torch.sigmoid(-z))

    def kl(self, z: Tensor, other: Tensor, phi: float) -> Tensor:
        # log(p e^d + q) - p d = log(p e^(q d) + q e^(-p d)), whose exponents have mean 0
        d, both = other - z, torch.stack([z, -z], -1)
        centered = torch.sigmoid(-both) * torch.stack([d, -d], -1)
        return log_mean_exp(F.logsigmoid(both), centered).sum(-1)


class Poisson(Family):
    r"""$\eta(z) = e^z$: mean $e^z$, variance $\phi e^z$; $y/\phi$ counts with rate $e^z/\phi$."""

    name = "poisson"

    def check_domain(self, z: Tensor) -> None:
        super().check_domain(z)
        limit = math.log(torch.finfo(z.dtype).max)
        if bool((z > limit).any()):
            raise ValueError(
                f"poisson rate exp(z) overflows {z.dtype} at z = {z.max():g}; keep z below {limit:.0f} "
                "(scale the features or the gain down)"
            )

    def check_outcome(self, y: Tensor, z: Tensor, phi: float) -> None:
        super().check_outcome(y, z, phi)
        counts = y.to(z.dtype) / phi
        off = (counts - counts.round()).abs() > 8 * torch.finfo(z.dtype).eps * counts.abs().clamp(min=1)
        if bool((off | (y < 0)).any()):
            raise ValueError(
                f"poisson outcomes lie in [{y.min():g}, {y.max():g}] and some are no counts; "
                f"give whole multiples >= 0 of the dispersion {phi}"
            )

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float) -> Tensor:
        k = y.to(z.dtype) / phi
        base = -k * math.log(phi) - torch.lgamma(k + 1)  # c(y, phi)
        return (k * z - torch.exp(z) / phi + base).sum(-1)

    def mean(self, z: Tensor) -> Tensor:
        return torch.exp(z)

    def scaled_covariance(self, z: Tensor, phi: float) -> OutputCovariance:
        return OutputCovariance(torch.exp(z) / phi)

    def kl(self, z: Tensor, other: Tensor, phi: float) -> Tensor:
        d = other - z
        low = d < 1
        near = torch.exp(z) * exp_excess(torch.where(low, d, 0.0))
        far = torch.exp(other) - torch.exp(z) * (1 + d)  # exp(z) may underflow where exp(z + d) does not
        return torch.where(low, near, far).sum(-1) / phi


class Gamma(Family):
    r"""$\eta(z) = -\log(-z)$ for $z<0$: mean $-1/z$, variance $\phi/z^2$, shape $1/\phi$ (canonical link)."""

    name = "gamma"

    def check_domain(self, z: Tensor) -> None:
        super().check_domain(z)
        if bool((z >= 0).any()):
            raise ValueError(
                f"gamma outputs with the canonical link need z < 0 and z reaches {z.max():g}; "
                "lower the bias or the gain until gain * normalized input + bias is negative for every case"
            )

    def check_outcome(self, y: Tensor, z: Tensor, phi: float) -> None:
        super().check_outcome(y, z, phi)
        if bool((y <= 0).any()):
            raise ValueError(
                f"gamma outcomes reach down to {y.min():g}; they are positive, remove the others"
            )

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float) -> Tensor:
        y, shape = y.to(z.dtype), 1 / phi
        base = (shape - 1) * torch.log(y) + shape * math.log(shape) - math.lgamma(shape)
        return ((z * y + torch.log(-z)) * shape + base).sum(-1)

    def mean(self, z: Tensor) -> Tensor:
        return -1 / z

    def scaled_covariance(self, z: Tensor, phi: float) -> OutputCovariance:
        return OutputCovariance(1 / (z * z * phi))

    def kl(self, z: Tensor, other: Tensor, phi: float) -> Tensor:
        r = (other - z) / z
        near = r.abs() < 0.5
        log_ratio = torch.where(
            near, torch.log1p(torch.where(near, r, 0.0)), torch.log(torch.where(near, 1.0, other / z))
        )
        return exp_excess(log_ratio).sum(-1) / phi  # z'/z - 1 - log(z'/z)


class Categorical(Family):
    r"""$\eta(z) = \log\sum_k e^{z_k}$ over the H logits."""

    name = "categorical"
    has_dispersion = False

    def check_outcome(self, y: Tensor, z: Tensor, phi: float) -> None:
        last = z.shape[1] - 1
        if y.shape != z.shape[:1] or y.is_floating_point():
            raise ValueError(
                f"categorical outcomes have shape {tuple(y.shape)} and dtype {y.dtype}; "
                f"give {len(z)} integer classes in 0..{last}"
            )
        if not 0 <= int(y.min()) <= int(y.max()) <= last:
            raise ValueError(
                f"categorical outcomes lie in {int(y.min())}..{int(y.max())}; classes are 0..{last}"
            )

    def log_likelihood(self, y: Tensor, z: Tensor, phi: float) -> Tensor:
        return F.log_softmax(z, -1).gather(-1, y.long()[:, None]).squeeze(-1)

    def mean(self, z: Tensor) -> Tensor:
        return torch.softmax(z, -1)

    def scaled_covariance(self, z: Tensor, phi: float) -> OutputCovariance:
        return OutputCovariance(torch.softmax(z, -1), softmax=True)

    def kl(self, z: Tensor, other: Tensor, phi: float) -> Tensor:
        log_p, d = F.log_softmax(z, -1), other - z
        # Any shift leaves log E[exp(d)] - E[d]; the likeliest class at 0, no rounding of E[d] is seen.
        d = d - d.gather(-1, log_p.argmax(-1, keepdim=True))
        return log_mean_exp(log_p, d - (log_p.exp() * d).sum(-1, keepdim=True))


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

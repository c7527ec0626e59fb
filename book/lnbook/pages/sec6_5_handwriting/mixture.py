r"""Where the pen goes next: a mixture of bivariate Gaussians, and a coin for the end of a stroke.

$$p(x, e) = \Big[\sum_m \pi_m\,\mathcal N(x \mid \mu_m, \sigma_m, \rho_m)\Big]\,q^e(1-q)^{1-e}.$$

A network gives 6M + 1 numbers for it, each on a scale that is free of bounds.
"""

from __future__ import annotations

from math import log, pi
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

CLOSEST = 0.999  # |rho| stays below, so that 1 - rho^2 is 0.002 at least
FINEST = 7.0  # |log sigma| stays within: e^-7 is a thousandth of a usual offset


class Mixture(NamedTuple):
    """The density's parameters: M components, each for x and y."""

    log_weight: Tensor  # (..., M)
    mean: Tensor  # (..., M, 2)
    log_std: Tensor  # (..., M, 2)
    rho: Tensor  # (..., M)
    lift: Tensor  # (...), the log-odds that the stroke ends


def mixture(y: Float[Tensor, "*N P"], bias: float | Float[Tensor, "*N"] = 0.0) -> Mixture:
    r"""From a network's P = 6M + 1 outputs to the density.

    $\pi = \mathrm{softmax}(\hat\pi(1+b))$, $\sigma = e^{\hat\sigma - b}$, $\rho = 0.999\tanh\hat\rho$.

    *Source* Graves (2013), Eqs. (18)-(22), and (61), (62) for b; the bounds on $\rho$ and $\sigma$ are ours.

    `bias` is Graves' b, one for all or one each: at 0 the density itself, above it only what is likely.
    """
    count, b = y.shape[-1] // 6, torch.as_tensor(bias)[..., None]
    weight, mean, std, rho, lift = y.split([count, 2 * count, 2 * count, count, 1], -1)
    return Mixture(
        F.log_softmax(weight * (1 + b), -1),
        mean.unflatten(-1, (count, 2)),
        std.unflatten(-1, (count, 2)).clamp(-FINEST, FINEST) - b[..., None],
        CLOSEST * torch.tanh(rho),
        lift.squeeze(-1),
    )


def nll(parameters: Mixture, point: Float[Tensor, "*N 3"]) -> Float[Tensor, "*N"]:
    r"""$-\log p$ of a point, in nats; (dx, dy, 1 if the stroke ends).

    In logarithms throughout. With $z = (x-\mu)/\sigma$ a component's exponent is
    $-\frac12\left(z_2^2 + \frac{(z_1-\rho z_2)^2}{1-\rho^2}\right)$: two squares, never negative by rounding.

    *Source* Graves (2013), Eqs. (23)-(26).

    >>> one = mixture(torch.zeros(7))  # a standard normal, and a fair coin
    >>> nll(one, torch.zeros(3)) - log(2 * pi) - log(2)
    tensor(0.)
    """
    z = (point[..., None, :2] - parameters.mean) * (-parameters.log_std).exp()
    left = (1 - parameters.rho) * (1 + parameters.rho)
    across = (z[..., 0] - parameters.rho * z[..., 1]).square() / left
    log_density = -log(2 * pi) - parameters.log_std.sum(-1) - 0.5 * (left.log() + across + z[..., 1].square())
    of_offset = torch.logsumexp(parameters.log_weight + log_density, -1)
    of_lift = F.binary_cross_entropy_with_logits(parameters.lift, point[..., 2], reduction="none")
    return of_lift - of_offset


def draw(parameters: Mixture, generator: torch.Generator) -> Float[Tensor, "N 3"]:
    """One point of each of N mixtures."""
    which = torch.multinomial(parameters.log_weight.exp(), 1, generator=generator)
    mean, log_std = (
        part.take_along_dim(which[..., None], 1).squeeze(1) for part in (parameters.mean, parameters.log_std)
    )
    rho = parameters.rho.gather(1, which).squeeze(1)
    noise = torch.randn(mean.shape, generator=generator, dtype=mean.dtype)
    second = rho * noise[:, 0] + ((1 - rho) * (1 + rho)).sqrt() * noise[:, 1]
    offset = mean + log_std.exp() * torch.stack([noise[:, 0], second], 1)
    coin = torch.rand(len(mean), generator=generator, dtype=mean.dtype)
    lifted = (coin < parameters.lift.sigmoid()).to(mean.dtype)
    return torch.cat([offset, lifted[:, None]], 1)

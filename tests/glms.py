"""Random models of every kind for the tests of the geometry, and their Fisher matrix from the definition."""

from itertools import product
from typing import Any

import numpy as np
import torch
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import roots_genlaguerre
from torch import Tensor

from lnlib import GLM

# name -> (family, options)
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "gaussian": ("gaussian", {}),
    "gaussian, variance": ("gaussian", {"dispersion": 2.5}),
    "bernoulli": ("bernoulli", {}),
    "poisson": ("poisson", {"dispersion": 0.5}),
    "gamma": ("gamma", {"dispersion": 0.4}),
    "categorical": ("categorical", {}),
}
NORMS = (None, "batch", "weight", "layer", "rms")
POISSON_COUNTS = 45  # rates below 4: what lies beyond has probability 1e-30


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def model(
    family: str,
    norm: str | None = None,
    *,
    N: int = 5,
    D: int = 2,
    H: int = 3,
    seed: int = 0,
    dtype: torch.dtype = torch.float64,
    **options: Any,
) -> tuple[GLM, Tensor]:
    """A model and cases; natural parameters lie inside every domain, Poisson rates below 4."""
    name, more = FAMILIES[family]
    options = {**more, **options}
    X, W, b, g = (draw(*s, seed=seed * 10 + k) for k, s in enumerate([(N, D), (H, D), (H,), (H,)]))
    W, b, g = W / 2, b / 4, (0.4 + g.abs() / 4) * g.sign()
    if name == "gamma":
        W, b = W / 4, b - 6
    if name == "poisson":
        b = b - 1
    if norm is not None:
        options |= {"norm": norm, "gain": g.to(dtype)}
    return GLM(name, W.to(dtype), b.to(dtype), **options), X.to(dtype)


def relative(found: Tensor, true: Tensor) -> float:
    """The Frobenius norm of the difference over that of the true one."""
    return float(torch.linalg.vector_norm(found - true) / torch.linalg.vector_norm(true))


def fisher_from_definition(glm: GLM, X: Tensor, weights: Tensor | None = None) -> Tensor:
    """Eq. (9): E over cases and over outcomes of score times score', scores by autograd."""
    z = glm.natural(X, weights).detach()
    y, probability = outcomes(glm, z)  # (K, N, *H), (K, N)
    leaf = z.repeat(len(y), 1).requires_grad_()
    log_p = glm.distribution.log_likelihood(y.flatten(0, 1), leaf, glm.dispersion)
    (by_z,) = torch.autograd.grad(log_p.sum(), leaf)
    by_z = by_z.view(len(y), *z.shape)
    J = torch.autograd.functional.jacobian(lambda t: glm.with_theta(t).natural(X, weights), glm.theta)
    scores = torch.einsum("knh,nhp->knp", by_z, J)
    shares = torch.full((len(X),), 1 / len(X), dtype=X.dtype) if weights is None else weights / weights.sum()
    return torch.einsum("n,kn,knp,knq->pq", shares, probability, scores, scores)


def outcomes(glm: GLM, z: Tensor) -> tuple[Tensor, Tensor]:
    """All outcomes of each case with their probabilities, or a quadrature exact for squares of scores."""
    N, H = z.shape
    if glm.family == "categorical":
        classes = torch.arange(H)[:, None].expand(-1, N)
        return classes, probabilities(glm, classes, z)
    if glm.family in ("gaussian", "gamma"):  # scores are linear in y: 3 nodes a unit are exact
        nodes, mass = (
            hermegauss(3) if glm.family == "gaussian" else roots_genlaguerre(3, 1 / float(glm.dispersion) - 1)
        )
        grid = torch.tensor(list(product(nodes, repeat=H)), dtype=z.dtype)[:, None]
        probability = torch.tensor([np.prod(m) for m in product(mass / mass.sum(), repeat=H)], dtype=z.dtype)
        y = -grid * glm.dispersion / z if glm.family == "gamma" else z + grid * glm.dispersion**0.5
        return y, probability[:, None].expand(-1, N)
    top = {"bernoulli": 1, "poisson": POISSON_COUNTS}[glm.family]
    counts = torch.cartesian_prod(*[torch.arange(top + 1, dtype=z.dtype)] * H).view(-1, 1, H)
    y = (counts * glm.dispersion).expand(-1, N, -1)
    return y, probabilities(glm, y, z)


def probabilities(glm: GLM, y: Tensor, z: Tensor) -> Tensor:
    log_p = glm.distribution.log_likelihood(y.flatten(0, 1), z.repeat(len(y), 1), glm.dispersion)
    p = log_p.exp().view(len(y), len(z))
    assert torch.allclose(p.sum(0), torch.ones_like(p[0]), rtol=0, atol=1e-12)  # nothing is left out
    return p

r"""Section 5.2, measured: where Eqs. (8) and (13) hold, by how much they err, and what follows.

Small random models; the Fisher matrices come from :mod:`lnlib.fisher`, exact and as printed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.colors import CenteredNorm
from matplotlib.figure import Figure
from torch import Tensor
from torch.autograd.functional import hessian, jacobian
from torch.nn.functional import one_hot

from lnbook.figures import plots
from lnlib.fisher import FisherOperator, fisher, kl, printed_eq13
from lnlib.glm import GLM, NORMS
from lnlib.glm.families import FAMILIES

# all outcomes of a tiny model, where they can be listed
OUTCOMES: dict[str, list] = {"bernoulli": list(product((0.0, 1.0), repeat=3)), "categorical": [0, 1, 2]}
D = 4  # inputs of a random layer


def _draw(seed: int) -> Callable[..., Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)


def tiny(family: str, norm: str | None, seed: int) -> tuple[GLM, Float[Tensor, "N D"]]:
    """A model of 3 units and 2 inputs, and 20 cases: the same parameters for any family and norm."""
    draw = _draw(seed)
    X, W, b, spread = draw(20, 2), draw(3, 2), draw(3) / 2, draw(3)
    gain = None if norm is None else (spread / 3).exp()
    b = b - 12 if family == "gamma" else b
    return GLM(family, W, b, norm=norm, gain=gain), X


def _random_layer(H: int, N: int, seed: int) -> tuple[GLM, Float[Tensor, "N D"]]:
    """Layer-normalized Gaussian units with standard normal weights and features, gain 1."""
    draw = _draw(seed)
    return GLM("gaussian", draw(H, D), draw(H) * 0, norm="layer"), draw(N, D)


def scalars(glm: GLM, X: Float[Tensor, "N D"]) -> tuple[Float[Tensor, "#N #H"], Float[Tensor, "#N #H"]]:
    """The two scalars of Eq. (5): a pair a unit under batch and weight norm, a case under layer norm."""
    a = X @ glm.W.mT
    if glm.norm == "weight":
        return a.new_zeros(1, 1), torch.linalg.vector_norm(glm.W, dim=1)[None]
    axis = {"batch": 0, "layer": 1}[str(glm.norm)]
    var, mean = torch.var_mean(a, axis, correction=0, keepdim=True)
    return mean, var.sqrt()


def of_kl(glm: GLM, X: Float[Tensor, "N D"]) -> Float[Tensor, "P P"]:
    """The Fisher matrix as the second derivative of the divergence at distance 0, by autograd."""
    return hessian(lambda theta: kl(glm, glm.with_theta(theta), X), glm.theta)


def error(A: Float[Tensor, "P P"], B: Float[Tensor, "P P"]) -> float:
    """Difference of two matrices relative to the second, in the Frobenius norm."""
    return float((A - B).norm() / B.norm())


def by_listing(glm: GLM, X: Float[Tensor, "N D"], outcomes: Sequence) -> Float[Tensor, "P P"]:
    """Eq. (9): each outcome's score times itself, times its probability."""
    F = X.new_zeros(len(glm.theta), len(glm.theta))
    for y in torch.tensor(outcomes):
        targets = y.expand(len(X), *y.shape)
        score = jacobian(lambda theta, y=targets: glm.with_theta(theta).log_likelihood(X, y), glm.theta)
        F += score.T @ (glm.log_likelihood(X, targets).exp()[:, None] * score) / len(X)
    return F


def largest_residual(seed: int) -> float:
    """The largest error of `lnlib.fisher.fisher` on tiny models of every family and norm."""
    errors = []
    for family, norm in product(FAMILIES, NORMS):
        glm, X = tiny(family, norm, seed)
        F = fisher(glm, X)
        errors.append(error(F, of_kl(glm, X)))
        if family in OUTCOMES:
            errors.append(error(F, by_listing(glm, X, OUTCOMES[family])))
    return max(errors)


def remainder(
    glm: GLM, X: Float[Tensor, "N D"], steps: Float[np.ndarray, " steps"]
) -> tuple[Float[np.ndarray, " steps"], Float[np.ndarray, "steps N"]]:
    r"""Eq. (8) along a line: $|E_x D_{KL} - \frac12\delta^\top F\delta|$, and $D_{KL}$ over that form."""
    direction = _draw(0)(len(glm.theta))
    direction = direction / direction.norm()
    half = float(direction @ fisher(glm, X) @ direction) / 2
    cases = np.array([glm.kl(glm.with_theta(glm.theta + s * direction), X).numpy() for s in steps])
    form = half * np.square(steps)
    return np.abs(cases.mean(1) - form), cases / form[:, None]


def misfit(H: int, seed: int) -> tuple[float, float]:
    """Relative error of Eq. (13)'s weight block for a random layer: in Frobenius norm, in spectral norm."""
    glm, X = _random_layer(H, 400, seed)
    blocks = (matrix(glm, X).view(H, D + 2, H, D + 2)[:, :D, :, :D] for matrix in (fisher, printed_eq13))
    exact, printed = (F.reshape(H * D, H * D) for F in blocks)
    return error(printed, exact), float(torch.linalg.norm(printed - exact, 2) / torch.linalg.norm(exact, 2))


def digit_units(
    X: Float[Tensor, "N D"], labels: Int[Tensor, " N"], seed: int
) -> tuple[GLM, Float[Tensor, " P"]]:
    """Ten layer-normalized logistic units, one a class, at random weights; and their loss's gradient."""
    pixels, y = X.shape[1], one_hot(labels, 10).to(X.dtype)
    W = _draw(seed)(10, pixels) / pixels**0.5
    glm = GLM("bernoulli", W, torch.zeros(10, dtype=X.dtype), norm="layer")
    return glm, torch.func.grad(lambda theta: -glm.with_theta(theta).log_likelihood(X, y).mean())(glm.theta)


def doubled(glm: GLM, rows: int | slice) -> GLM:
    """The model with some rows of W twice as long."""
    factors = torch.ones_like(glm.b)
    factors[rows] = 2
    return replace(glm, W=factors[:, None] * glm.W)


def row_factor(H: int, rows: int | slice, seed: int) -> float:
    """Factor of the trace of the first row's block when some rows of a random layer double."""
    glm, X = _random_layer(H, 200, seed)
    axes = torch.eye(len(glm.theta), D, dtype=X.dtype)  # the first row's weights
    before, after = (((FisherOperator(m, X) @ axes) * axes).sum() for m in (glm, doubled(glm, rows)))
    return float(after / before)


def fisher_images(matrices: Mapping[str, Float[Tensor, "P P"]], H: int, D: int) -> Figure:
    """Fisher matrices of H units as images on one color scale, lines between units, blocks labeled."""
    fig, axes = plots.subplots(1, len(matrices), figsize=(5.6, 2.7))
    norm = CenteredNorm(halfrange=max(float(F.abs().max()) for F in matrices.values()))
    starts = np.arange(H) * (D + 2)
    places = [start + at for start in starts for at in (D / 2, D + 0.5, D + 1.5)]
    names = [f"${letter}_{i + 1}$" for i in range(H) for letter in "wbg"]
    for ax, (title, F) in zip(axes, matrices.items(), strict=True):
        n = len(F)
        image = ax.imshow(F.numpy(), norm=norm, extent=(0, n, n, 0), interpolation="nearest")
        for edge in starts[1:]:
            ax.axvline(edge, color=plots.INK, lw=1)
            ax.axhline(edge, color=plots.INK, lw=1)
        ax.set(title=title, xticks=places, yticks=places, xticklabels=names, yticklabels=names)
        ax.grid(False)
        ax.tick_params(length=0, pad=2)
    fig.colorbar(image, ax=axes, shrink=0.8)
    return fig

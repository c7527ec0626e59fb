"""The exact Fisher matrix, measured: cost, traces, null spaces by size, steps from two parameterizations."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.functional import jacobian

from lnbook.pages.beyond_exact_fisher import symmetry
from lnbook.training import Row
from lnlib.fisher import FisherOperator, fisher
from lnlib.glm import GLM
from lnlib.norms.normalize import layer_norm

__all__ = [
    "apart",
    "costs",
    "counts",
    "off_projection",
    "outputs_after",
    "random_model",
    "scaled",
    "slides",
    "weight_traces",
]

NORMS = ("layer", "batch", "weight")


def random_model(family: str, norm: str, H: int, D: int, generator: torch.Generator) -> GLM:
    """Standard normal weights, normal biases, and gains around 1, in float64."""
    W, b, g = (torch.randn(*n, generator=generator, dtype=torch.float64) for n in ((H, D), (H,), (H,)))
    return GLM(family, W, b, norm=norm, gain=(g / 3).exp())


def off_projection(
    norm: Callable[..., Tensor], lost: int, widths: Sequence[int], generator: torch.Generator
) -> float:
    """Singular values of a normalization's derivative times the case's scale, by autograd: their largest
    distance from H - lost ones and `lost` zeros, over one random case of each width."""
    worst = 0.0
    for H in widths:
        a = torch.randn(H, generator=generator, dtype=torch.float64)
        values = torch.linalg.svdvals(jacobian(lambda v: norm(v, eps=0.0), a))
        scale = a.std(correction=0) if lost == 2 else a.square().mean().sqrt()
        worst = max(worst, float((values * scale - (torch.arange(H) < H - lost).double()).abs().max()))
    return worst


def weight_traces(glm: GLM, X: Float[Tensor, "N D"]) -> tuple[float, float]:
    """Trace of the block of all weights, of the exact matrix and of that printed in Eq. (13)."""
    H, D = glm.W.shape
    exact, printed = (FisherOperator(glm, X, printed=p).diagonal().view(H, -1) for p in (False, True))
    return float(exact[:, :D].sum()), float(printed[:, :D].sum())


def scaled(glm: GLM, X: Float[Tensor, "N D"]) -> tuple[Float[Tensor, "P P"], float]:
    """The exact matrix scaled to a diagonal of ones; its largest entry between weights, biases and gains."""
    (H, D), F = glm.W.shape, fisher(glm, X)
    F = F / (F.diagonal()[:, None] * F.diagonal()).sqrt()
    kind = torch.tensor(([0] * D + [1, 2]) * H)
    return F, float(F[kind[:, None] != kind].abs().max())


def costs(sizes: Sequence[int], dense_up_to: int, cases: int, generator: torch.Generator) -> list[Row]:
    """Seconds (best of five) and bytes of the matrix and of one product, for n units of n inputs.

    The bytes are counted: $P^2$ numbers; four arrays of (N, H) and two vectors.
    """
    rows = []
    for n in sizes:
        X = torch.randn(cases, n, generator=generator, dtype=torch.float64)
        F = FisherOperator(random_model("bernoulli", "layer", n, n, generator), X)
        v = torch.ones(F.shape[0], dtype=X.dtype)
        ways: dict[str, tuple[Callable[[], Tensor], int]] = {}
        ways["product"] = partial(F.__matmul__, v), 4 * cases * n + 2 * len(v)
        if n <= dense_up_to:
            ways["matrix"] = F.to_dense, len(v) ** 2
        for way, (compute, numbers) in ways.items():
            row = {"way": way, "P": len(v), "seconds": _best_of_five(compute), "bytes": 8 * numbers}
            rows.append(row)
    return rows


def _best_of_five(compute: Callable[[], object]) -> float:
    def once() -> float:
        began = time.perf_counter()
        compute()
        return time.perf_counter() - began

    return min(once() for _ in range(5))


def counts(
    units: Sequence[int], inputs: Sequence[int], families: Sequence[str], generator: torch.Generator
) -> Iterator[Row]:
    """Nullity of the Fisher matrix of random models on 60 cases, for all sizes, ranks, norms and families.

    Under layer norm also that of the matrix that Eq. (13) prints.
    """
    for H, D in product(units, inputs):
        for r, norm, family in product(range(1, D + 1), NORMS, families):
            X, mix = (torch.randn(*n, generator=generator, dtype=torch.float64) for n in ((60, r), (r, D)))
            glm = random_model(family, norm, H, D, generator)
            row = {"H": H, "D": D, "r": r, "norm": norm, "family": family}
            found = {"nullity": FisherOperator(glm, X @ mix).null_space(1e-9).nullity}
            if norm == "layer":
                found["printed"] = FisherOperator(glm, X @ mix, printed=True).null_space(1e-9).nullity
            yield row | found


def slides(glm: GLM, X: Float[Tensor, "N D"], path: Float[Tensor, "S H"]) -> Float[np.ndarray, "S 2"]:
    """Relative changes of the weights and of the layer's outputs after slides by factors t, a row each."""
    assert glm.gain is not None
    z, out = layer_norm(X @ glm.W.mT, glm.gain, glm.b, eps=0.0), []
    for t in path:
        W, g = symmetry.rescale(glm.W, glm.gain, t)
        change = layer_norm(X @ W.mT, g, glm.b, eps=0.0) - z
        out.append([float((W - glm.W).norm() / glm.W.norm()), float(change.norm() / z.norm())])
    return np.array(out)


def outputs_after(
    glm: GLM, X: Float[Tensor, "N D"], y: Float[Tensor, "N H"], damping: float | None, rate: float = 0.5
) -> Float[Tensor, "N H"]:
    r"""Natural parameters after one step down the mean negative log-likelihood of the outcomes y.

    Args:
        glm: a model of independent outputs and dispersion 1. X: cases, (N, D). y: outcomes, (N, H).
        damping: $\lambda$ in units of F's mean eigenvalue; 0 for the pseudo-inverse, None for the plain
            gradient. rate: the length of the step.
    """
    operator = FisherOperator(glm, X)
    d = glm.pack(*operator.linearization.pull(glm.mean(X) - y))
    if damping == 0:
        d = torch.linalg.pinv(fisher(glm, X), hermitian=True, rtol=1e-10) @ d
    elif damping is not None:
        d = operator.solve(d, damping * operator.trace() / len(d))
    return glm.with_theta(glm.theta - rate * d).natural(X)


def apart(
    glm: GLM, W: Float[Tensor, "H D"], X: Float[Tensor, "N D"], y: Float[Tensor, "N H"], damping: float | None
) -> float:
    """How far one step takes a model from the same function with weights W, relative to the step."""
    one, two = (outputs_after(model, X, y, damping) for model in (glm, replace(glm, W=W)))
    return float((two - one).norm() / (one - glm.natural(X)).norm())

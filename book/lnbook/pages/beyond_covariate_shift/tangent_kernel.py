r"""The largest eigenvalue of a random network's Fisher matrix, by the tangent kernel of its outputs.

For outputs $z_n$ with a squared error, $F = \frac1N\sum_nJ_n^\top J_n$ has the eigenvalues of $\Theta/N$,
$\Theta = JJ^\top$ (N K, N K), however many weights there are. A norm of the outputs multiplies J by its own
derivative, so that it acts on both sides of $\Theta$.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor

DEPTH, OUTPUTS = 3, 10  # hidden layers, and outputs K
NORMS = {"none": None, "batch": 0, "layer": 1}  # axes of the outputs over which each takes its mean


def random_network(
    width: int, generator: torch.Generator, depth: int = DEPTH, outputs: int = OUTPUTS
) -> list[Float[Tensor, "_ _"]]:
    """Weights of a relu network of one width, inputs included: N(0, 2 / inputs), in float64; no biases."""
    sizes = [width] * (depth + 1) + [outputs]
    pairs = pairwise(sizes)
    return [torch.randn(H, D, generator=generator, dtype=torch.float64) * (2 / D) ** 0.5 for D, H in pairs]


def tangent_kernel(
    weights: list[Float[Tensor, "_ _"]], x: Float[Tensor, "N D"]
) -> tuple[Float[Tensor, "N K"], Float[Tensor, "NK NK"]]:
    r"""Outputs z, and $\Theta_{nk,ml} = \sum_l\langle\delta_{nk},\delta_{ml}\rangle\langle h_n,h_m\rangle$.

    $\delta_{nk}$ is the derivative of output k of case n with respect to the summed inputs of layer l, h what
    the layer reads: products of gradients, without the gradients.
    """
    layers, h = [x], x
    for W in weights[:-1]:
        h = torch.relu(h @ W.T)
        layers.append(h)
    N, K = len(x), len(weights[-1])
    delta = torch.eye(K, dtype=x.dtype).expand(N, K, K)
    kernel = torch.zeros(N * K, N * K, dtype=x.dtype)
    for W, h in zip(reversed(weights), reversed(layers), strict=True):
        flat = delta.reshape(N * K, -1)
        kernel += ((flat @ flat.T).view(N, K, N, K) * (h @ h.T)[:, None, :, None]).view(N * K, N * K)
        delta = (delta @ W) * (h > 0).to(h)[:, None]  # unused after the first layer
    return layers[-1] @ weights[-1].T, kernel


def largest(
    kernel: Float[Tensor, "M M"], norm: Callable[[Float[Tensor, " M"]], Float[Tensor, " M"]] | None = None
) -> float:
    """The largest eigenvalue of a symmetric matrix, by Lanczos' method from a fixed start."""
    M = len(kernel)

    def product(v: np.ndarray) -> np.ndarray:
        t = torch.from_numpy(v).flatten()
        return (kernel @ t if norm is None else norm(kernel @ norm(t))).numpy()

    operator = LinearOperator((M, M), matvec=product, dtype=np.float64)
    start = np.linspace(1, 2, M)
    return float(eigsh(operator, k=1, which="LA", v0=start, tol=1e-10, return_eigenvectors=False)[0])


def derivative(z: Float[Tensor, "N K"], axis: int) -> Callable[[Float[Tensor, " NK"]], Float[Tensor, " NK"]]:
    """What a norm of the outputs z over one axis makes of their change."""
    centered = z - z.mean(axis, keepdim=True)
    std = centered.square().mean(axis, keepdim=True).sqrt()
    unit = centered / std

    def through(v: Float[Tensor, " NK"]) -> Float[Tensor, " NK"]:
        v = v.view_as(z)
        along = (unit * v).mean(axis, keepdim=True)
        return ((v - v.mean(axis, keepdim=True) - unit * along) / std).flatten()

    return through


def largest_eigenvalues(
    width: int, network: int, norms: Sequence[str] = tuple(NORMS), outputs: int = OUTPUTS
) -> list[float]:
    """Largest eigenvalues of a random network's Fisher matrix on half as many cases as units, by norm."""
    generator = torch.Generator().manual_seed(1000 * width + network)
    weights, cases = random_network(width, generator, outputs=outputs), width // 2
    x = torch.randn(cases, width, generator=generator, dtype=torch.float64)
    z, kernel = tangent_kernel(weights, x)
    axes = [NORMS[name] for name in norms]
    return [largest(kernel, None if axis is None else derivative(z, axis)) / cases for axis in axes]

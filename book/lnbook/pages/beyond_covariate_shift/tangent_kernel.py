r"""The largest eigenvalue of a random network's Fisher matrix, by the tangent kernel of its outputs.

For outputs $z_n$ with a squared error, $F = \frac1N\sum_nJ_n^\top J_n$ has the eigenvalues of $\Theta/N$,
$\Theta = JJ^\top$ (N K, N K), however many weights there are. A norm of the outputs multiplies J by its own
derivative, so that it acts on both sides of $\Theta$.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float
from scipy.sparse.linalg import eigsh
from torch import Tensor


def random_network(sizes: Sequence[int], generator: torch.Generator) -> list[Float[Tensor, "_ _"]]:
    """Weights of a relu network: N(0, 2 / inputs), in float64; no biases."""
    pairs = pairwise(sizes)
    return [torch.randn(H, D, generator=generator, dtype=torch.float64) * (2 / D) ** 0.5 for D, H in pairs]


def tangent_kernel(
    weights: list[Float[Tensor, "_ _"]], x: Float[Tensor, "N D"]
) -> tuple[Float[Tensor, "N K"], Float[Tensor, "NK NK"]]:
    r"""Outputs z, and $\Theta_{nk,ml} = \sum_l\langle\delta_{nk},\delta_{ml}\rangle\langle h_n,h_m\rangle$.

    $\delta_{nk}$ is the derivative of output k of case n with respect to the summed inputs of layer l, h what
    the layer reads: products of gradients, without the gradients.
    """
    layers = [x]
    for W in weights[:-1]:
        layers.append(torch.relu(layers[-1] @ W.T))
    N, K = len(x), len(weights[-1])
    delta = torch.eye(K, dtype=x.dtype).expand(N, K, K)
    kernel = torch.zeros(N * K, N * K, dtype=x.dtype)
    for W, h in zip(reversed(weights), reversed(layers), strict=True):
        flat = delta.reshape(N * K, -1)
        kernel += ((flat @ flat.T).view(N, K, N, K) * (h @ h.T)[:, None, :, None]).view(N * K, N * K)
        delta = (delta @ W) * (h > 0).to(h)[:, None]  # unused after the first layer
    return layers[-1] @ weights[-1].T, kernel


def normed(kernel: Float[Tensor, "NK NK"], z: Float[Tensor, "N K"], axis: int) -> Float[Tensor, "NK NK"]:
    """The kernel under a norm of the outputs z over one axis: its derivative, symmetric, on both sides."""
    centered = z - z.mean(axis, keepdim=True)
    std = centered.square().mean(axis, keepdim=True).sqrt()
    unit = centered / std
    for _ in range(2):
        rows = kernel.reshape(-1, *z.shape)
        along = (unit * rows).mean(axis - 2, keepdim=True)
        kernel = ((rows - rows.mean(axis - 2, keepdim=True) - unit * along) / std).flatten(1).T
    return kernel


def largest(kernel: Float[Tensor, "M M"]) -> float:
    """The largest eigenvalue of a symmetric matrix, by Lanczos' method from a fixed start."""
    start = np.linspace(1, 2, len(kernel))
    found = eigsh(kernel.numpy(), k=1, which="LA", v0=start, tol=1e-10, return_eigenvectors=False)
    return float(found[0])


def largest_eigenvalues(width: int, network: int) -> list[float]:
    """Of a random network's Fisher matrix on half as many cases as units: no norm, batch norm, layer norm."""
    generator = torch.Generator().manual_seed(1000 * width + network)
    weights, cases = random_network((*[width] * 4, 10), generator), width // 2
    x = torch.randn(cases, width, generator=generator, dtype=torch.float64)
    z, kernel = tangent_kernel(weights, x)
    return [largest(each) / cases for each in (kernel, normed(kernel, z, 0), normed(kernel, z, 1))]

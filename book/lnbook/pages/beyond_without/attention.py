r"""Attention: which keys a query can prefer, and how large the logits become, with and without a norm.

`largest_logits` trains one layer that is asked for the value $v=\pm1$ of one of n keys x: its prediction is
$\sum_i p_i v_i$, $p = \mathrm{softmax}(q^\top k_i/\sqrt d)$ with $q = W_Qx$, $k_i = W_Kx_i$. QK-norm puts a
layer norm with a gain on both. The loss is the mean squared error. *Source* ours; Brody and others (2023)
for unselectable keys, Dehghani and others (2023) for logits that grow without QK-norm.
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import linprog
from torch import Tensor
from torch.func import grad, vmap

from lnlib.norms import layer_norm

PAIRS, WIDTH, CASES = 8, 16, 64  # keys to choose from, units of a key, cases in a mini-batch


def unselectable(keys: Float[np.ndarray | Tensor, "n d"]) -> int:
    """How many keys lie in the convex hull of the others, so that no query prefers them.

    >>> unselectable(np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]]))
    1
    """
    inside = 0
    for i, key in enumerate(keys):
        others = np.delete(keys, i, axis=0)
        weights = np.vstack([others.T, np.ones(len(others))])
        found = linprog(np.zeros(len(others)), A_eq=weights, b_eq=[*key, 1.0])
        inside += {0: 1, 2: 0}[found.status]  # weights found, or there are none
    return inside


def largest_logits(
    rates: Sequence[float], seeds: Sequence[int], updates: int, *, norm: bool
) -> Float[np.ndarray, "rates seeds"]:
    """The largest logit in size of the last mini-batch, for every step size and seed."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def draw(*shape: int) -> Tensor:
        each = [torch.randn(*shape, generator=g) for g in generators]
        return torch.stack(each).repeat(len(rates), *[1] * len(shape))

    def loss(parameters: list[Tensor], x: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Of one model, and its largest logit; the first key of each case is asked for."""
        query, key, *gains = parameters
        q, k = x[:, 0] @ query.mT, x @ key.mT
        if norm:
            q, k = (layer_norm(a, gain, eps=0.0) for a, gain in zip((q, k), gains, strict=True))
        logits = (k @ q[:, :, None])[..., 0] / WIDTH**0.5
        answers = (logits.softmax(-1) * values).sum(-1)
        return (answers - values[:, 0]).square().mean(), logits.abs().max()

    parameters = [draw(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(2)]
    parameters += [torch.ones(len(rates) * len(seeds), WIDTH) for _ in range(2)]
    steps = torch.tensor(rates).repeat_interleave(len(seeds))
    slopes = vmap(grad(loss, has_aux=True))
    for _ in range(updates):
        gradients, largest = slopes(parameters, draw(CASES, PAIRS, WIDTH), draw(CASES, PAIRS).sign())
        for p, gradient in zip(parameters, gradients, strict=True):
            p.sub_(steps.view(-1, *[1] * (p.ndim - 1)) * gradient)
    return largest.view(len(rates), len(seeds)).numpy()

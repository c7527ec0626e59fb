r"""Attention: which keys a query can prefer, and how large the logits become, with and without a norm.

`largest_logits` trains one layer that looks up values by keys. Of n pairs of a key x and a value of +1 or -1,
it is asked for the value of one key: its prediction is $\sum_i p_i v_i$,
$p = \mathrm{softmax}(q^\top k_i/\sqrt d)$ with $q = W_Qx$, $k_i = W_Kx_i$. QK-norm puts a layer norm with a
gain on q and on $k_i$. The loss is the mean squared error. *Source* ours; unselectable keys are of Brody and
others (2023), and that logits grow without QK-norm is of Dehghani and others (2023).
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import linprog
from torch import Tensor
from torch.func import grad_and_value, vmap

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


def _loss(parameters: list[Tensor], x: Tensor, values: Tensor, norm: bool) -> tuple[Tensor, Tensor]:
    """Of one model, and its largest logit in size; the first key of each case is asked for."""
    query, key, *gains = parameters
    q, k = x[:, 0] @ query.mT, x @ key.mT
    if norm:
        q, k = (layer_norm(a, gain, eps=0.0) for a, gain in zip((q, k), gains, strict=True))
    logits = (k @ q[:, :, None])[..., 0] / WIDTH**0.5
    loss = ((logits.softmax(-1) * values).sum(-1) - values[:, 0]).square().mean()
    return loss, logits.abs().max()


def largest_logits(
    rates: Sequence[float], seeds: Sequence[int], updates: int, *, norm: bool
) -> Float[np.ndarray, "2 rates seeds updates"]:
    """The largest logit of each mini-batch in size, and its loss, for every step size and seed."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def draw(*shape: int) -> Tensor:
        each = [torch.randn(*shape, generator=g) for g in generators]
        return torch.stack(each).repeat(len(rates), *[1] * len(shape))

    parameters = [draw(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(2)]
    parameters += [torch.ones(len(rates) * len(seeds), WIDTH) for _ in range(2)]
    step = torch.tensor(rates).repeat_interleave(len(seeds))
    slopes, found = vmap(grad_and_value(partial(_loss, norm=norm), has_aux=True)), []
    for _ in range(updates):
        gradients, (loss, logit) = slopes(parameters, draw(CASES, PAIRS, WIDTH), draw(CASES, PAIRS).sign())
        parameters = [
            p - step.view(-1, *[1] * (p.ndim - 1)) * g for p, g in zip(parameters, gradients, strict=True)
        ]
        found.append(torch.stack([logit, loss]))
    return torch.stack(found, -1).view(2, len(rates), len(seeds), updates).numpy()

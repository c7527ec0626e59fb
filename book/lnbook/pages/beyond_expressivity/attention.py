r"""One attention layer that looks up values by keys, trained by gradient descent, with and without QK-norm.

Of n pairs of a key x and a value of +1 or -1, the layer is asked for the value of one key: its prediction is
$\sum_i p_i v_i$, $p = \mathrm{softmax}(q^\top k_i/\sqrt d)$ with $q = W_Qx$, $k_i = W_Kx_i$. QK-norm puts a
layer norm with a gain on q and on $k_i$. The loss is the mean squared error. *Source* ours; that logits grow
without QK-norm is Dehghani and others (2023).
"""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.norms import layer_norm

PAIRS, WIDTH, CASES = 8, 16, 64  # keys to choose from, units of a key, cases in a mini-batch


def _logits(parameters: list[Tensor], x: Tensor, asked: Tensor, norm: bool) -> Float[Tensor, "M N n"]:
    """Of M models for N cases each; the asked key is one of each case's n."""
    query, key, query_gain, key_gain = parameters
    q, k = torch.einsum("mij,mnj->mni", query, asked), torch.einsum("mij,mnpj->mnpi", key, x)
    if norm:
        q = query_gain[:, None] * layer_norm(q, eps=0.0)
        k = key_gain[:, None, None] * layer_norm(k, eps=0.0)
    return torch.einsum("mni,mnpi->mnp", q, k) / WIDTH**0.5


def largest_logits(
    rates: Sequence[float], seeds: Sequence[int], updates: int, *, norm: bool
) -> tuple[Float[np.ndarray, "rates seeds updates"], Float[np.ndarray, "rates seeds updates"]]:
    """The largest logit of each mini-batch in size, and its loss, for every step size and seed."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    models = len(rates) * len(seeds)

    def draw(*shape: int) -> Tensor:
        each = [torch.randn(*shape, generator=g) for g in generators]
        return torch.stack(each).repeat(len(rates), *[1] * len(shape))

    parameters = [draw(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(2)]
    parameters += [torch.ones(models, WIDTH) for _ in range(2)]
    step = torch.tensor(rates).repeat_interleave(len(seeds))
    logits, losses = [], []
    for _ in range(updates):
        x, values = draw(CASES, PAIRS, WIDTH), draw(CASES, PAIRS).sign()
        for p in parameters:
            p.requires_grad_()
        found = _logits(parameters, x, x[:, :, 0], norm)
        loss = ((found.softmax(-1) * values).sum(-1) - values[..., 0]).square().mean(1)
        gradients = torch.autograd.grad(loss.sum(), parameters, allow_unused=True)
        with torch.no_grad():
            for p, g in zip(parameters, gradients, strict=True):
                if g is not None:
                    p -= step.view(-1, *[1] * (p.dim() - 1)) * g
        logits.append(found.detach().abs().amax((1, 2)))
        losses.append(loss.detach())
    shape = (len(rates), len(seeds), updates)
    return tuple(torch.stack(each, 1).view(shape).numpy() for each in (logits, losses))  # type: ignore[return-value]

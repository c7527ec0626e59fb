r"""Trained digit classifiers that meet the same digits at another contrast or brightness.

A network of one hidden layer, $\mathrm{logits} = V\,\mathrm{relu}(g\,\bar a + b) + c$ with $\bar a$ of one
norm, is trained on digits as they are. Then all pixels of a test digit are multiplied (Table 1: single
training case re-scaling) or shifted. Batch norm keeps the training set's statistics.
*Source* ours, Section 5.1.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.training import torch_threads
from lnlib.invariance.methods import Statistics, normalized, statistics, summed_inputs

NETWORKS = ("none", "batch", "weight", "layer", "layer, bias inside")


def train(
    method: str, x: Float[Tensor, "N D"], y: Int64[Tensor, " N"], *, updates: int, seed: int
) -> Callable[[Float[Tensor, "M D"]], Float[Tensor, "M K"]]:
    """The logits of one of :data:`NETWORKS`, trained with Adam (step size 0.003), no epsilon anywhere."""
    generator, norm = torch.Generator().manual_seed(seed), method.partition(",")[0]
    classes, inputs, units = int(y.max()) + 1, x.shape[1], 100

    def normal(*sizes: int, scale: float) -> Tensor:
        return (scale * torch.randn(*sizes, generator=generator)).to(x.dtype)

    def logits(x: Float[Tensor, "M D"], kept: Statistics | None = None) -> Float[Tensor, "M K"]:
        a = normalized(norm, p["W"], x, input_bias=p.get("inside"), frozen=kept)
        return torch.relu(p["g"] * a + p["b"]) @ p["V"].T + p["c"]

    p = {
        "W": normal(units, inputs, scale=(2 / inputs) ** 0.5),
        "V": normal(classes, units, scale=units**-0.5),
        "g": x.new_ones(units),
        "b": x.new_zeros(units),
        "c": x.new_zeros(classes),
    }
    if method.endswith("inside"):
        p["inside"] = ((2 * torch.rand(units, generator=generator) - 1) / inputs**0.5).to(x.dtype)
    for parameter in p.values():
        parameter.requires_grad_()
    optimizer = torch.optim.Adam(p.values(), lr=3e-3)
    with torch_threads(1):  # the matrices are too small for more
        for _ in range(updates):
            chosen = torch.randint(len(x), (100,), generator=generator)
            optimizer.zero_grad()
            cross_entropy(logits(x[chosen]), y[chosen]).backward()
            optimizer.step()
    for parameter in p.values():
        parameter.requires_grad_(False)
    frozen = statistics(summed_inputs("batch", p["W"], x)) if method == "batch" else None
    return lambda x: logits(x, frozen)

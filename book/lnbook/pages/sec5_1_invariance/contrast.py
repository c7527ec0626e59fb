r"""Trained digit classifiers that meet the same digits at another contrast or brightness.

A network of one hidden layer, $\mathrm{logits} = V\,\mathrm{relu}(g\,\bar a + b) + c$, with the summed
inputs of the hidden layer normalized by one method. It is trained on digits as they are. Then all pixels of
a test digit are multiplied by a contrast (Table 1: single training case re-scaling) or a brightness is added
to them (a shift of the features).

Batch norm is used as after training, with the statistics of the training set. *Source* ours, Section 5.1.
"""

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.training import torch_threads
from lnlib.invariance.methods import Statistics, normalized, statistics, summed_inputs

NETWORKS = ("none", "batch", "weight", "layer", "layer, bias inside")


class Network:
    """A trained classifier; call it with digits, get logits."""

    def __init__(self, method: str, parameters: dict[str, Tensor], kept: Statistics | None) -> None:
        self.norm, self.parameters, self.kept = method.partition(",")[0], parameters, kept

    def __call__(self, x: Float[Tensor, "N D"]) -> Float[Tensor, "N K"]:
        """The logits of each case."""
        p = self.parameters
        a = normalized(self.norm, p["W"], x, input_bias=p.get("inside"), frozen=self.kept)
        return torch.relu(p["g"] * a + p["b"]) @ p["V"].T + p["c"]


def train(
    method: str, x: Float[Tensor, "N D"], y: Int64[Tensor, " N"], *, updates: int, seed: int = 0
) -> Network:
    """Train one of :data:`NETWORKS` with Adam (step size 0.003), no epsilon anywhere."""
    generator = torch.Generator().manual_seed(seed)
    classes, inputs, units = int(y.max()) + 1, x.shape[1], 100

    def normal(*sizes: int, scale: float) -> Tensor:
        return (scale * torch.randn(*sizes, generator=generator)).to(x.dtype)

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
    network, optimizer = Network(method, p, None), torch.optim.Adam(p.values(), lr=3e-3)
    with torch_threads(1):  # the matrices are too small for more
        for _ in range(updates):
            chosen = torch.randint(len(x), (100,), generator=generator)
            optimizer.zero_grad()
            cross_entropy(network(x[chosen]), y[chosen]).backward()
            optimizer.step()
    kept = {name: parameter.detach() for name, parameter in p.items()}
    frozen = statistics(summed_inputs("batch", kept["W"], x)) if method == "batch" else None
    return Network(method, kept, frozen)

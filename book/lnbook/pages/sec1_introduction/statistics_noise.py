r"""Section 1, measured: is the noise of batch norm's statistics a regularizer?

Two networks differ in one thing. In training, the mean and the variance of a summed input are taken over the
mini-batch, or over all training cases, as Eq. (2) says. The loss is that of the mini-batch in both, the first
weights and the order of the cases are the same, and so are the statistics at test time: those of all
training cases.
"""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.shared.shift import Cases, Network
from lnlib.norms.batch import batch_norm, batch_norm_by


def train(
    cases: Cases, seed: int, *, exact: bool, updates: int, units: int = 64, batch: int = 32, rate: float = 0.3
) -> Network:
    """Two hidden layers with batch norm, trained by plain gradient descent on mini-batches of `batch` cases.

    If `exact`, statistics and their gradients are taken over all cases and not over the mini-batch.
    """
    x, y = cases
    network = Network((x.shape[1], units, units, 10), seed, lambda k, a: batch_norm(a))
    generator = torch.Generator().manual_seed(seed + 1000)
    descent = torch.optim.SGD([p for layer in network.layers for p in layer], lr=rate)
    for _ in range(updates):
        drawn = torch.randint(len(x), (batch,), generator=generator)
        logits = network(x)[0][drawn] if exact else network(x[drawn])[0]
        descent.zero_grad()
        cross_entropy(logits, y[drawn]).backward()
        descent.step()
    return network


@torch.no_grad()
def answers(network: Network, x: Float[Tensor, "N D"], test: Float[Tensor, "M D"]) -> Float[Tensor, "M K"]:
    """The logits of test cases, normalized by the statistics of all training cases x."""
    stored = {}

    def keep(k: int, a: Tensor) -> Tensor:
        stored[k] = torch.var_mean(a, 0, correction=0)
        return batch_norm(a)

    def use(k: int, a: Tensor) -> Tensor:
        variance, mean = stored[k]
        return batch_norm_by(a, mean, variance)

    twin = Network((), 0, keep)
    twin.layers = network.layers
    twin(x)
    twin.normalize = use
    return twin(test)[0]


def wrong_answers(
    cases: Cases, test: Cases, seed: int, *, exact: bool, updates: int, number: int = 500
) -> float:
    """The share of wrong answers to test cases after `train` on a random `number` of the cases."""
    chosen = torch.randperm(len(cases[0]), generator=torch.Generator().manual_seed(seed))[:number]
    x, y = (part[chosen] for part in cases)
    network = train((x, y), seed, exact=exact, updates=updates)
    return float((answers(network, x, test[0]).argmax(1) != test[1]).double().mean())

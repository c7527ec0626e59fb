"""How the units of a layer move while the layers below learn, and what that does."""

from collections.abc import Callable
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import grad
from torch.nn.functional import cross_entropy

from lnbook.shared.shift import BATCH, Cases, Network, Normalize, Run
from lnlib import batch_norm


def change_above(
    cases: Cases, f: Callable[[Tensor], Tensor], seed: int, *, H: int = 200, steps: int = 20, random: bool
) -> tuple[Float[Tensor, "N H"], Float[Tensor, "N H"]]:
    """The upper layer's summed inputs, and their change once the layer below it has learned.

    Both layers are trained, but only the lower one's new weights are used. `random` is the control: they
    move as far (in Frobenius norm), in a random direction.
    """
    x, y = cases
    generator, power = torch.Generator().manual_seed(seed), 2 if f is torch.relu else 1
    pairs = pairwise((x.shape[1], H, H, 10))
    layers = [torch.randn(o, i, generator=generator) * (power / i) ** 0.5 for i, o in pairs]
    lower, upper, _ = layers
    slopes = grad(lambda ws: cross_entropy(f(f(x @ ws[0].T) @ ws[1].T) @ ws[2].T, y))
    for _ in range(steps):
        layers = [w - 0.1 * slope for w, slope in zip(layers, slopes(layers), strict=True)]
    move = layers[0] - lower
    if random:
        direction = torch.randn(move.shape, generator=generator)
        move = direction * (move.norm() / direction.norm())
    before, after = f(x @ lower.T), f(x @ (lower + move).T)
    return before @ upper.T, (after - before) @ upper.T


def dependence(cases: Cases, seed: int, units: int) -> tuple[float, float]:
    """Relative change of the second layer's gradient when the first layer alone makes one more update.

    As it is, and with a random sign at each entry of the change of the first layer's outputs.
    """
    x, y = cases
    network = Network((x.shape[1], units, units, units, 10), seed)
    generator = torch.Generator().manual_seed(seed)
    batches = torch.randint(len(x), (21, BATCH), generator=generator)
    for batch in batches[:-1]:
        network.update(x[batch], y[batch], rate=0.1)
    probe = torch.randint(len(x), (256,), generator=generator)

    def gradient(h: Tensor) -> Tensor:
        loss = cross_entropy(network(h, start=1)[0], y[probe])
        return torch.autograd.grad(loss, network.layers[1][0])[0]

    def outputs() -> Tensor:
        return torch.relu(network(x[probe])[1][0]).detach()

    before = outputs()
    network.update(x[batches[-1]], y[batches[-1]], rate=0.1, layers=slice(1))
    change = outputs() - before
    signs = torch.randint(2, change.shape, generator=generator) * 2 - 1
    old = gradient(before)
    learned, scrambled = (gradient(before + d) - old for d in (change, signs * change))
    return float(learned.norm() / old.norm()), float(scrambled.norm() / old.norm())


def drifting(run: Run) -> Normalize:
    r"""Batch norm, then the means and scales of a run's units, relative to those after its first update.

    $\bar a_i\,\sigma_i^t/\sigma_i^1 + (\mu_i^t-\mu_i^1)/\sigma_i^1$ at update t, for a network that `train`
    trains for as many updates.
    """
    mean, std = torch.from_numpy(run.received).unbind(2)
    offset, stretch = (mean - mean[0]) / std[0], std / std[0]
    passes = iter(range(2 * len(mean)))  # one to learn and one to measure an update
    now = -1

    def normalize(k: int, a: Tensor) -> Tensor:
        nonlocal now
        if k == 0:
            now = next(passes) // 2
        return batch_norm(a) * stretch[now, k] + offset[now, k]

    return normalize

"""Section 2, measured while a network learns: what a gradient depends on, drifts put back, stored means."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.shared.shift import BATCH, Cases, Network, Normalize, Run
from lnlib import batch_norm


def dependence(
    cases: Cases, seed: int, normalize: Normalize | None = None, *, units: int = 100
) -> tuple[float, float, float]:
    r"""How much the gradient of the second layer's weights depends on what the first layer puts out.

    After twenty updates the first layer alone makes one more, by which its outputs on 256 probe cases
    change by some matrix. The second layer's gradient $\delta h^\top$ changes with them, and is computed
    again for the same matrix with a random sign at each entry: as large, without any correlation.

    Of the gradient it gives the relative change, as learned and scrambled; and the share of the squared
    change of the outputs that lies in its first singular direction.
    """
    x, y = cases
    network = Network((x.shape[1], units, units, units, 10), seed, normalize)
    generator = torch.Generator().manual_seed(seed)
    batches = torch.randint(len(x), (21, BATCH), generator=generator)
    for batch in batches[:-1]:
        network.update(x[batch], y[batch], rate=0.1)
    probe = torch.randint(len(x), (256,), generator=generator)

    def gradient(h: Tensor) -> Tensor:
        loss = cross_entropy(network(h, start=1)[0], y[probe])
        return torch.autograd.grad(loss, network.layers[1][0])[0]

    def outputs() -> Tensor:
        with torch.no_grad():
            return torch.relu(network(x[probe])[1][0])

    before = outputs()
    network.update(x[batches[-1]], y[batches[-1]], rate=0.1, layers=slice(1))
    change = outputs() - before
    signs = torch.randint(2, change.shape, generator=generator) * 2 - 1
    old = gradient(before)
    learned, scrambled = ((gradient(before + d) - old).norm() / old.norm() for d in (change, signs * change))
    power = torch.linalg.svdvals(change).square()
    return float(learned), float(scrambled), float(power[0] / power.sum())


def drifting(run: Run, *, held: bool = False) -> Normalize:
    r"""Batch norm, then the means and scales of a run's units, relative to those after its first update.

    $\bar a_i\,\sigma_i^t/\sigma_i^1 + (\mu_i^t-\mu_i^1)/\sigma_i^1$ at update t, for a network that `train`
    trains as long; with `held` the last update's from the beginning.
    """
    mean, std = torch.from_numpy(run.received).unbind(2)
    offset, stretch = (mean - mean[0]) / std[0], std / std[0]
    passes = iter(range(2 * len(mean)))  # one to learn and one to measure an update
    now = -1

    def normalize(k: int, a: Tensor) -> Tensor:
        nonlocal now
        if k == 0 and not held:
            now = next(passes) // 2
        return batch_norm(a) * stretch[now, k] + offset[now, k]

    return normalize


def lateness(
    cases: Cases,
    seed: int,
    normalize: Normalize,
    momenta: Sequence[float],
    *,
    rate: float,
    updates: int,
    units: int = 100,
) -> dict[float, list[float]]:
    r"""The error of running averages of the first layer's means while the network learns.

    $r \leftarrow (1 - m) r + m \hat\mu$ with the mini-batch mean $\hat\mu$ of the current weights; momentum
    m = 1 is the last batch alone. The truth is exact at each update, because the first layer is linear:
    $\mu_i = w_i^\top E[x]$.

    For each momentum it gives the root mean square error over the units at each update, in units of each
    unit's standard deviation in the batch.
    """
    x, y = cases
    network = Network((x.shape[1], units, units, units, 10), seed, normalize)
    generator = torch.Generator().manual_seed(seed + 1000)
    center, running = x.mean(0), dict.fromkeys(momenta, torch.zeros(0))
    errors: dict[float, list[float]] = {m: [] for m in momenta}
    for _ in range(updates):
        drawn = torch.randint(len(x), (BATCH,), generator=generator)
        with torch.no_grad():
            W = network.layers[0][0]
            a, exact = x[drawn] @ W.T, W @ center
            for m, r in running.items():
                running[m] = (1 - m) * r + m * a.mean(0) if len(r) else a.mean(0)
                error = (running[m] - exact) / a.std(0)
                errors[m].append(float(error.square().mean().sqrt()))
        network.update(x[drawn], y[drawn], rate)
    return errors

r"""Section 2, measured: what happens to a layer while the layers below it learn.

A small rectifier network on labelled pictures, trained by plain stochastic gradient descent. `normalize`
is the place where a normalization goes: a function of the layer's index and its summed inputs (N, H), or
None for the plain network. What it returns is multiplied by the gain, so a unit receives
$g_i \bar a_i + b_i$ as in Eq. (5).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnlib import batch_norm

__all__ = ["Group", "Network", "Normalize", "Run", "compare", "dependence", "drifting", "lateness", "train"]

Normalize = Callable[[int, Tensor], Tensor]
Cases = tuple[Float[Tensor, "N D"], Int[Tensor, " N"]]
BATCH = 64


class Network:
    """Weights, biases and gains of the layers, at He's start: a network that can be run from any layer up."""

    def __init__(self, sizes: Sequence[int], seed: int, normalize: Normalize | None = None) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.normalize = normalize
        self.layers: list[list[Tensor]] = []
        for inputs, units in pairwise(sizes):
            W = torch.randn(units, inputs, generator=generator) * (2 / inputs) ** 0.5
            self.layers.append([p.requires_grad_() for p in (W, torch.zeros(units), torch.ones(units))])

    def __call__(self, h: Float[Tensor, "N D"], start: int = 0) -> tuple[Tensor, list[Tensor]]:
        """Eq. (1) from layer `start` up: the logits, and what each layer's non-linearity receives."""
        received = []
        for k, (W, b, g) in list(enumerate(self.layers))[start:-1]:
            a = h @ W.T if self.normalize is None else g * self.normalize(k, h @ W.T)
            received.append(a + b)
            h = torch.relu(a + b)
        W, b, _ = self.layers[-1]
        return h @ W.T + b, received

    def update(self, x: Tensor, y: Tensor, rate: float, layers: slice = slice(None)) -> float:
        """One step of gradient descent for some layers; returns the loss before it."""
        parameters = [p for layer in self.layers[layers] for p in layer]
        loss = cross_entropy(self(x)[0], y)
        gradients = torch.autograd.grad(loss, parameters, materialize_grads=True, allow_unused=True)
        with torch.no_grad():
            for p, gradient in zip(parameters, gradients, strict=True):
                p -= rate * gradient
        return loss.item()


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


@dataclass(frozen=True)
class Run:
    """One training run: the loss before each update, and what the hidden layers' units receive after it.

    `received` has the mean and the deviation over the cases; `mean` and `std` are those of the second layer.
    """

    loss: Float[np.ndarray, " updates"]
    received: Float[np.ndarray, "updates layers 2 H"]
    network: Network

    @property
    def mean(self) -> Float[np.ndarray, "updates H"]:
        """Of each unit of the second layer."""
        return self.received[:, 1, 0]

    @property
    def std(self) -> Float[np.ndarray, "updates H"]:
        """Of each unit of the second layer."""
        return self.received[:, 1, 1]

    @property
    def shift(self) -> float:
        """How far a unit's mean moves in one update, in units of the standard deviation; both averaged."""
        return float(np.abs(np.diff(self.mean, axis=0)).mean() / self.std.mean())

    def path(self, goal: float) -> float:
        """How far a unit's mean moves in all, in its standard deviations, until the loss falls to a goal.

        The loss is its mean over the last fifth of training so far, as :attr:`Group.loss` takes it at the
        end; a run that never falls to the goal has moved all its way.
        """
        window = max(1, len(self.loss) // 5)
        trailing = np.convolve(self.loss, np.ones(window) / window, mode="valid")  # [k]: ends at k + window
        reached = np.flatnonzero(trailing <= goal)
        end = int(reached[0]) + window if len(reached) else len(self.loss)
        moves = np.abs(np.diff(self.mean, axis=0)).mean(1)
        return float(moves[: end - 1].sum() / self.std.mean())


def train(
    cases: Cases,
    seed: int,
    normalize: Normalize | None = None,
    *,
    rate: float,
    updates: int,
    units: int = 100,
) -> Run:
    """Train three hidden layers and record, on the first 500 cases, what their units receive."""
    x, y = cases
    network = Network((x.shape[1], units, units, units, 10), seed, normalize)
    generator = torch.Generator().manual_seed(seed + 1000)
    losses, moments = [], []
    for _ in range(updates):
        drawn = torch.randint(len(x), (BATCH,), generator=generator)
        losses.append(network.update(x[drawn], y[drawn], rate))
        with torch.no_grad():
            received = torch.stack(network(x[:500])[1])
        moments.append(torch.stack([received.mean(1), received.std(1)], 1))
    return Run(np.array(losses), torch.stack(moments).numpy(), network)


@dataclass(frozen=True)
class Group:
    """The runs of one method from several starts, at the learning rate that suits it best."""

    rate: float
    runs: list[Run]

    @property
    def loss(self) -> Float[np.ndarray, " starts"]:
        """Each run's mean loss over the last fifth of training."""
        return np.array([run.loss[-max(1, len(run.loss) // 5) :].mean() for run in self.runs])

    @property
    def shift(self) -> Float[np.ndarray, " starts"]:
        """Each run's shift."""
        return np.array([run.shift for run in self.runs])

    @property
    def curve(self) -> Float[np.ndarray, " updates"]:
        """The geometric mean of the losses at each update, smoothed over nine updates."""
        mean = np.exp(np.log([run.loss for run in self.runs]).mean(0))
        return np.convolve(np.pad(mean, 4, mode="edge"), np.ones(9) / 9, mode="valid")


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


def compare(
    cases: Cases,
    methods: Mapping[str, Callable[[int], Normalize | None]],
    *,
    seeds: Sequence[int],
    rates: Sequence[float],
    updates: int,
    units: int = 100,
) -> dict[str, Group]:
    """Train each method from each seed at each rate and keep its best rate: the lowest mean final loss.

    `methods` makes a normalization from a seed, so that a method may be random. A rate at which a run
    diverges is never the best.
    """
    best = {}
    for name, make in methods.items():
        groups = [
            Group(rate, [train(cases, s, make(s), rate=rate, updates=updates, units=units) for s in seeds])
            for rate in rates
        ]
        best[name] = min(groups, key=lambda group: np.nan_to_num(group.loss.mean(), nan=np.inf))
    return best


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

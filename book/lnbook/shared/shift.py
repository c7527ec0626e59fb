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


@dataclass(frozen=True)
class Run:
    """One training run: the loss before each update, and what the hidden layers' units receive after it."""

    loss: Float[np.ndarray, " updates"]
    received: Float[np.ndarray, "updates layers 2 H"]  # mean and deviation over the cases
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

        The loss is a mean over the fifth of training before; a run that never falls so far moves all its way.
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


def compare(
    cases: Cases,
    methods: Mapping[str, Callable[[int], Normalize | None]],
    *,
    seeds: Sequence[int],
    rates: Sequence[float],
    updates: int,
    units: int = 100,
) -> dict[str, Group]:
    """Train each method, made from a seed, at each rate; keep its best, of the lowest mean final loss."""
    best = {}
    for name, make in methods.items():
        groups = [
            Group(rate, [train(cases, s, make(s), rate=rate, updates=updates, units=units) for s in seeds])
            for rate in rates
        ]
        best[name] = min(groups, key=lambda group: np.nan_to_num(group.loss.mean(), nan=np.inf))
    return best

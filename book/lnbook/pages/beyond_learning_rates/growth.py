r"""Section 5.2.2, measured: how normalized weights grow under gradient descent, and what their growth does.

A network of one hidden layer whose summed inputs layer norm normalizes without epsilon, so that its hidden
weights W have an invisible length. Plain stochastic gradient descent, with or without weight decay on W:
$W \leftarrow (1 - \lambda\rho)W - \rho\,\nabla L$ at learning rate $\rho$ and decay $\lambda$.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.pages.beyond_learning_rates.walks import angles, length, seen
from lnbook.training import generators, torch_threads
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import layer_norm, weight_norm

Cases = Sequence[Tensor]  # inputs (N, D), and their labels (N,), 0 to 9
METHODS = ("none", "batch", "weight", "layer")
REST = 0.1  # learning rate of all parameters but W


@dataclass(frozen=True)
class Descent:
    """What one run's hidden weights did, update by update."""

    rate: float
    length: Float[np.ndarray, " updates"]  # norm of what the model sees of W, before each update
    gradient: Float[np.ndarray, " updates"]  # norm of W's gradient
    angle: Float[np.ndarray, " updates"]  # by which the update turned W, in radians
    loss: Float[np.ndarray, " updates"]  # of the mini-batch

    @property
    def effective_rate(self) -> Float[np.ndarray, " updates"]:
        r"""$\rho/\|W\|^2$, the learning rate of the direction $W/\|W\|$."""
        return self.rate / self.length**2

    @property
    def slowdown(self) -> float:
        """The effective rate of the last update over that of the first."""
        return float(self.effective_rate[-1] / self.effective_rate[0])


def descend(
    cases: Cases,
    seed: int,
    *,
    rate: float,
    updates: int,
    decay: float = 0.0,
    scale: float = 1.0,
    units: int = 100,
    held: float | None = None,
) -> Descent:
    """Train with layer norm from weights of one seed, times `scale`, and record the descent of W."""
    x, y = cases
    initial, order = generators(seed)
    D = x.shape[1]
    W = scale * torch.randn(units, D, generator=initial) / D**0.5
    V = torch.randn(10, units, generator=initial) / units**0.5
    if held is not None:
        W *= held / length(seen(W))
    parameters = [p.requires_grad_() for p in (W, torch.ones(units), torch.zeros(units), V, torch.zeros(10))]
    W, g, b, V, c = parameters
    rows = []
    with torch_threads(1):  # so small a network gains nothing from more, and its numbers would depend on it
        for _ in range(updates):
            drawn = torch.randint(len(x), (64,), generator=order)
            hidden = torch.relu(layer_norm(x[drawn] @ W.T, g, eps=0.0) + b)
            loss = cross_entropy(hidden @ V.T + c, y[drawn])
            gradients = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                before = seen(W)
                W *= 1 - rate * decay
                for p, gradient in zip(parameters, gradients, strict=True):
                    p -= (rate if p is W else REST) * gradient
                if held is not None:
                    W *= held / length(seen(W))
                after = seen(W)
            found = length(before), gradients[0].norm(), angles(before, after), loss
            rows.append([value.item() for value in found])
    return Descent(rate, *np.array(rows).T)


def brakes(
    cases: Cases, rates: Sequence[float], seeds: Sequence[int], updates: int
) -> dict[str, list[list[Descent]]]:
    """Layer-normalized runs by learning rate and seed: W's length free, or held where it begins or ends."""
    found: dict[str, list[list[Descent]]] = {"free": [], "held: first length": [], "held: last length": []}
    for rate in rates:
        run = partial(descend, cases, rate=rate, updates=updates)
        free = [run(seed) for seed in seeds]
        first, last = (
            [run(seed, held=float(walk.length[end])) for seed, walk in zip(seeds, free, strict=True)]
            for end in (0, -1)
        )
        for way, runs in zip(found.values(), (free, first, last), strict=True):
            way.append(runs)
    return found


def last_losses(walks: Sequence[Sequence[Descent]]) -> Float[np.ndarray, "seeds rates"]:
    """Mean loss of each run's last 50 updates, by rate and seed; one that diverged counts as guessing."""
    losses = np.array([[walk.loss[-50:].mean() for walk in runs] for runs in walks]).T
    return np.fmin(losses, np.log(10))


def first_gradient(
    method: str, cases: Cases, seed: int, *, norm: float = 1.0, units: int = 100
) -> tuple[Float[Tensor, "H D"], Float[Tensor, "H D"]]:
    """Random hidden weights of a given norm, in float64, and the loss's gradient with respect to them."""
    x, y = cases[0].double(), cases[1]
    draw = torch.Generator().manual_seed(seed)
    W = torch.randn(units, x.shape[1], generator=draw, dtype=torch.float64)
    W = (norm * W / W.norm()).requires_grad_()
    V = torch.randn(10, units, generator=draw, dtype=torch.float64) / units**0.5
    a = x @ (weight_norm(W, W.new_ones(units)) if method == "weight" else W).T
    if method in ("batch", "layer"):
        a = (layer_norm if method == "layer" else batch_norm)(a, eps=0.0)
    (G,) = torch.autograd.grad(cross_entropy(torch.relu(a) @ V.T, y), W)
    return W.detach(), G

r"""One network from several starts, trained side by side: rectifier layers with a normalization or without.

Each start has its own weights and sees its own mini-batches. Their losses are added up, so that the gradient
of each is its own, and Adam, like plain gradient descent, keeps them apart.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lnbook.data import Images
from lnbook.training import Cases, Minibatches, NonFiniteLoss, Row, fit, generators, sweep
from lnlib.norms.normalize import layer_norm
from lnlib.norms.standardize import over_root


def detached_layer_norm(
    a: Float[Tensor, "..."], eps: float = 1e-5, detach: Collection[str] = ("mean", "std")
) -> Float[Tensor, "..."]:
    """Normalize each case over its units, and differentiate as if some of its statistics were constants.

    *Source* with both DetachNorm: Xu and others, "Understanding and Improving Layer Normalization" (2019).
    """
    x = a - a.detach()[..., :1]  # a shift changes nothing, and equal values become 0
    mean = x.mean(-1, keepdim=True)
    d = x - (mean.detach() if "mean" in detach else mean)
    # d sums to 0, so the mean inside the variance has no gradient whether or not it is a constant
    power = d.square().mean(-1, keepdim=True) + eps
    return over_root(d, power.detach() if "std" in detach else power)


NORMS: Mapping[str, Callable[[Tensor, float], Tensor]] = {
    "none": lambda a, eps: a,
    "batch": lambda a, eps: layer_norm(a, eps=eps, dim=1),
    "layer": lambda a, eps: layer_norm(a, eps=eps),
    "simple": lambda a, eps: layer_norm(a, eps=eps),
    "mean detached": lambda a, eps: detached_layer_norm(a, eps=eps, detach=("mean",)),
    "std detached": lambda a, eps: detached_layer_norm(a, eps=eps, detach=("std",)),
    "both detached": lambda a, eps: detached_layer_norm(a, eps=eps),
}
GAINS, BIASES = ("batch", "layer"), ("none", "batch", "layer")  # that learn them; they stay 1 and 0 elsewhere

Place = tuple[int, float]  # hidden layers, and the scale of their initial weights
Arrays = tuple[
    Float[np.ndarray, "N D"], Int64[np.ndarray, " N"], Float[np.ndarray, "M D"], Int64[np.ndarray, " M"]
]


def pictures(images: Images, cases: int) -> Arrays:
    """So many training cases, and at most 1,000 test cases, spread evenly; pixels from 0 to 1."""

    def part(name: Literal["train", "test"], limit: int) -> tuple[np.ndarray, np.ndarray]:
        x, y = images.flat(name)
        step = max(1, len(x) // limit)
        return x[::step][:limit].astype(np.float32), y[::step][:limit]

    return *part("train", cases), *part("test", 1000)


class Twins(nn.Module):
    r"""The networks: $h^{l+1} = \max(0, g\,N(W h^l) + b)$, and logits $W h + b$, for each of S starts.

    Initial weights are He's, the same whatever the norm; in hidden layers times `scale`.
    """

    def __init__(
        self,
        units: Sequence[int],
        norm: str,
        seeds: Sequence[int],
        *,
        scale: float = 1.0,
        eps: float = 1e-5,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        super().__init__()
        self.norm, self.eps = norm, eps
        sources = [generators(seed)[0] for seed in seeds]
        self.weights, self.gains, self.biases = (nn.ParameterList() for _ in range(3))
        for inputs, outputs in pairwise(units):
            draws = [torch.randn(outputs, inputs, generator=source) for source in sources]
            self.weights.append(torch.stack(draws).to(dtype) * (2 / inputs) ** 0.5)
        for W in list(self.weights)[:-1]:
            W.detach().mul_(scale)
        for outputs in units[1:-1]:
            ones = torch.ones(len(seeds), 1, outputs, dtype=dtype)
            self.gains.append(nn.Parameter(ones, norm in GAINS))
            self.biases.append(nn.Parameter(0 * ones, norm in BIASES))
        self.biases.append(torch.zeros(len(seeds), 1, units[-1], dtype=dtype))

    def forward(self, h: Float[Tensor, "S N D"]) -> Float[Tensor, "S N K"]:
        """The logits."""
        *hidden, last = self.weights
        for W, g, b in zip(hidden, self.gains, self.biases, strict=False):
            h = torch.relu(NORMS[self.norm](h @ W.mT, self.eps) * g + b)
        return h @ last.mT + self.biases[-1]


def losses(logits: Float[Tensor, "S N K"], y: Int64[Tensor, "S N"]) -> Float[Tensor, " S"]:
    """The mean loss of each start, in nats."""
    return cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none").view(y.shape).mean(1)


def loss(logits: Float[Tensor, "S N K"], y: Int64[Tensor, "S N"]) -> Float[Tensor, ""]:
    """The sum of the starts' losses, whose gradient is each start's own."""
    return losses(logits, y).sum()


def batches_of(x: Tensor, y: Tensor, size: int, seeds: Sequence[int]) -> Iterator[Cases]:
    """Mini-batches, each start's in the order of its seed."""
    orders = [Minibatches((x, y), size, generators(seed)[1]) for seed in seeds]
    while True:
        drawn = [next(order) for order in orders]
        yield tuple(torch.stack(parts) for parts in zip(*drawn, strict=True))


def train_run(
    arrays: Arrays, *, place: Place, norm: str, rate: float, units: int, seeds: Sequence[int], updates: int
) -> Row:
    """Each start's last loss on 1,000 training cases (nats) and test error (%), or infinity."""
    x, y, test_x, test_y = map(torch.from_numpy, arrays)
    S, (depth, scale) = len(seeds), place
    model = Twins((x.shape[1], *[units] * depth, 10), norm, seeds, scale=scale)
    batches, adam = batches_of(x, y, 64, seeds), torch.optim.Adam(model.parameters(), lr=rate, fused=True)
    try:
        fit(model, batches, loss, adam, updates=updates, every=updates)
    except NonFiniteLoss:
        return dict.fromkeys(("loss", "error"), np.full(S, np.inf))
    with torch.no_grad():
        last = losses(model(x[:1000].expand(S, -1, -1)), y[:1000].expand(S, -1))
        wrong = model(test_x.expand(S, -1, -1)).argmax(2) != test_y
    error = 100 * wrong.float().mean(1)
    return {"loss": last.double().numpy(), "error": error.double().numpy()}


def study(
    arrays: Arrays,
    methods: Mapping[Place, Sequence[str]],
    *,
    rates: Sequence[float],
    processes: int | None,
    **common: Any,
) -> dict[tuple[Place, str], Row]:
    """`train_run` of each place's methods, from the same starts: at the rate of the lowest mean log loss."""
    jobs = [
        {"place": place, "norm": norm, "rate": rate, **common}
        for place, norms in methods.items()
        for norm in norms
        for rate in rates
    ]
    best: dict[tuple[Place, str], Row] = {}
    for job, row in zip(jobs, sweep(train_run, jobs, common=(arrays,), processes=processes), strict=True):
        key = job["place"], job["norm"]
        best[key] = min(best.get(key, row), row, key=lambda each: np.log(each["loss"]).mean())
    return best

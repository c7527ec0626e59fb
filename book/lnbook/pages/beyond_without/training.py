"""Networks learn the digits of scikit-learn, those of all seeds and learning rates at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.pages.beyond_without.networks import Method, Networks
from lnbook.pages.beyond_without.ways import WAYS, new
from lnbook.shared.digits import Cases
from lnbook.training import generators, torch_threads

BATCH = 32  # cases of a mini-batch


@dataclass(frozen=True)
class Scores:
    """Mean loss (nats) and share of right answers: one row per learning rate, one column per seed."""

    loss: Float[np.ndarray, "rates seeds"]
    right: Float[np.ndarray, "rates seeds"]


def train(
    networks: Networks,
    method: Method | Callable[[float], Method],
    cases: Cases,
    seeds: Sequence[int],
    rates: Sequence[float],
    updates: int,
) -> Networks:
    """Copies of the networks, one for each of Adam's learning rates, after so many updates."""
    x, y = cases
    method_at = (lambda done: method) if isinstance(method, Method) else method
    orders = [generators(seed)[1] for seed in seeds]
    trained = {"into": networks.into, "out": networks.out, **networks.stack}
    copies = [{n: v.detach().clone().requires_grad_() for n, v in trained.items()} for _ in rates]
    groups = [{"params": [*c.values()], "lr": rate} for c, rate in zip(copies, rates, strict=True)]
    optimizer = torch.optim.Adam(groups)
    fixed = {name: torch.cat([value] * len(rates), 1) for name, value in networks.fixed.items()}
    with torch_threads(1):
        for update in range(updates):
            chosen = torch.stack([torch.randint(len(y), (BATCH,), generator=g) for g in orders])
            chosen = chosen.repeat(len(rates), 1)
            logits = _together(copies, fixed).logits(method_at(update / updates), x[chosen])
            loss = cross_entropy(logits.flatten(0, 1), y[chosen].flatten(), reduction="sum") / BATCH
            optimizer.zero_grad()
            loss.backward()  # the sum of the networks' losses: none feels another
            optimizer.step()
    return _together([{name: leaf.detach() for name, leaf in c.items()} for c in copies], fixed)


def scores(networks: Networks, method: Method, cases: Cases, seeds: Sequence[int]) -> Scores:
    """How networks do on cases; NaN is no right answer."""
    x, y = cases
    with torch_threads(1), torch.no_grad():
        logits = networks.logits(method, x).double()
        loss = torch.stack([cross_entropy(z, y) for z in logits])
        right = ((logits.argmax(-1) == y) & logits.isfinite().all(-1)).double().mean(-1)
    shape = -1, len(seeds)
    return Scores(loss.view(shape).numpy(), right.view(shape).numpy())


def best(found: Scores) -> tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]]:
    """Losses and shares of right answers at the learning rates whose means are best, each its own."""
    means = np.nan_to_num(found.loss.mean(1), nan=np.inf)
    return found.loss[means.argmin()], found.right[found.right.mean(1).argmax()]


def reached(
    name: str,
    depth: int,
    width: int,
    cases: Cases,
    judged: Cases,
    seeds: Sequence[int],
    rates: Sequence[float],
    updates: int,
) -> tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]]:
    """`best` of new networks of `WAYS`, trained on cases, at the rates that do best on those judged."""
    networks, method = new(name, depth, width, seeds), WAYS[name]
    return best(scores(train(networks, method, cases, seeds, rates, updates), method, judged, seeds))


def _together(copies: Sequence[dict[str, Tensor]], fixed: dict[str, Tensor]) -> Networks:
    """The networks of all rates as one."""
    axes = dict.fromkeys(copies[0], 1) | {"into": 0, "out": 0}  # of networks
    values = {name: torch.cat([c[name] for c in copies], axis) for name, axis in axes.items()}
    return Networks(values.pop("into"), values, values.pop("out"), fixed)

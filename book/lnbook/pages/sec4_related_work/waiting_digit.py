r"""Section 4, measured: the digit that one has to wait for, by LSTMs normalized in several ways.

A page is blank; at a random step a digit begins to pass by, a row of pixels a step; after the last step the
network names it. The task is the same at any length, and a step's inputs have much the same distribution
whichever step it is, so that statistics of one step can stand in for those of another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.data import Images
from lnbook.pages.sec4_related_work.recurrent_norms import METHODS, Stack, Statistics, gradient_by_lag, pool
from lnbook.training import generators, sweep

SIZES = {"smoke": (16, 8, 30), "book": (16, 16, 120), "study": (32, 16, 300)}  # steps, units, updates


def pixels(images: Images) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test cases; pixels with mean 0 and standard deviation 1 over all of the training set."""
    mean, std = images.train_x.mean(), images.train_x.std()
    train_x, test_x = (((x - mean) / std).astype(np.float32) for x in (images.train_x, images.test_x))
    return train_x, images.train_y, test_x, images.test_y


def waiting(
    images: Float[Tensor, "N rows columns"], steps: int, generator: torch.Generator
) -> Float[Tensor, "T N D"]:
    """The inputs: the rows of each image from a random step on; elsewhere the least value of all."""
    cases, rows, columns = images.shape
    x = images.amin().expand(steps, cases, columns).clone()
    begin = torch.randint(steps - rows + 1, (cases,), generator=generator)
    x[begin + torch.arange(rows).unsqueeze(1), torch.arange(cases)] = images.transpose(0, 1)
    return x


@dataclass(frozen=True)
class Tested:
    """Test errors of a setting's networks in percent, a seed each.

    `errors`: at once and twice the trained length. `pooled`: batch norm's at that length, with its stored
    statistics of all steps pooled; NaN for other methods.
    """

    errors: Mapping[int, Float[np.ndarray, " seeds"]]
    pooled: Float[np.ndarray, " seeds"]


def compare(images: Images, scale: str, seeds: Sequence[int]) -> dict[tuple[str, float], Tested]:
    """Train the norms on batches of 32, batch and layer norm from two gains each; by method and gain."""
    steps, units, updates = SIZES[scale]
    gains = {method: [0.1, 1.0] if METHODS[method].both else [1.0] for method in METHODS if method != "none"}
    common = {"seeds": list(seeds), "steps": steps, "units": units, "updates": updates}
    jobs: list[dict[str, Any]] = [{"method": m, "gains": start} | common for m, start in gains.items()]
    found = sweep(train, jobs, common=(pixels(images),), processes=None if scale == "study" else 1)
    settings = [(method, gain) for method, start in gains.items() for gain in start]
    return dict(zip(settings, (each for some in found for each in some), strict=True))


def train(
    arrays: tuple[np.ndarray, ...],
    *,
    method: str,
    gains: Sequence[float],
    seeds: Sequence[int],
    steps: int,
    units: int,
    updates: int,
    batch: int = 32,
) -> list[Tested]:
    """Train one method by Adam at 0.01 from all gains and seeds, gradients clipped at norm 1, and test it.

    Networks of one seed see the same cases. A result for each gain.
    """
    X, Y, test_x, test_y = map(torch.from_numpy, arrays)
    order = [generators(seed)[1] for seed in seeds]
    stack = Stack(METHODS[method], X.shape[2], units, int(Y.max()) + 1, gains, seeds)
    optimizer = torch.optim.Adam(stack.p.values(), 0.01, fused=True)
    for _ in range(updates):
        chosen = [torch.randint(len(X), (batch,), generator=g) for g in order]
        x = torch.stack([waiting(X[c], steps, g) for c, g in zip(chosen, order, strict=True)], 1)
        y = Y[torch.stack(chosen)].repeat(len(gains), 1)
        each = cross_entropy(stack(x.repeat(1, len(gains), 1, 1)).movedim(-1, 1), y, reduction="none").mean(1)
        optimizer.zero_grad()
        each.sum().backward()
        _clip([p.grad for p in stack.p.values() if p.grad is not None])
        optimizer.step()
    by_length, pooled = _test(stack, waiting(X, steps, order[0]), test_x, test_y)
    parts = [slice(k * len(seeds), (k + 1) * len(seeds)) for k in range(len(gains))]
    return [Tested({n: e[k].numpy() for n, e in by_length.items()}, pooled[k].numpy()) for k in parts]


def first_gradients(
    images: Images, method: str, gain: float, scale: str, seeds: Sequence[int]
) -> Float[Tensor, "S T"]:
    """`gradient_by_lag` of networks at their start, on the first 128 training cases."""
    X, Y, *_ = map(torch.from_numpy, pixels(images))
    steps, units, _ = SIZES[scale]
    stack = Stack(METHODS[method], X.shape[2], units, int(Y.max()) + 1, [gain], seeds)
    x = waiting(X[:128], steps, torch.Generator().manual_seed(seeds[0])).unsqueeze(1)
    return gradient_by_lag(stack, x.expand(-1, stack.size, -1, -1), Y[:128].expand(stack.size, -1))


def _clip(gradients: Sequence[Float[Tensor, "S _ _"] | Float[Tensor, "S _"]]) -> None:
    """Scale each network's gradient to at most norm 1, in place."""
    norm = torch.stack([g.flatten(1).square().sum(1) for g in gradients]).sum(0).sqrt()
    factor = (1 / norm).clamp(max=1.0)
    for g in gradients:
        g *= factor.view(-1, *[1] * (g.dim() - 1))


@torch.no_grad()
def _test(
    stack: Stack,
    all_cases: Float[Tensor, "T N D"],
    x: Float[Tensor, "M rows columns"],
    y: Int64[Tensor, " M"],
) -> tuple[dict[int, Tensor], Tensor]:
    def error(length: int, statistics: Statistics | None) -> Float[Tensor, " S"]:
        shown = waiting(x, length, torch.Generator().manual_seed(length)).unsqueeze(1)
        answers = stack(shown.expand(-1, stack.size, -1, -1), statistics).argmax(-1)
        return 100 * (answers != y).float().mean(1)

    steps = len(all_cases)
    stored = stack.population(all_cases) if stack.method.over.startswith("cases") else None
    by_length = {k: error(k * steps, stored) for k in (1, 2)}
    return by_length, torch.full((stack.size,), torch.nan) if stored is None else error(steps, pool(stored))

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

from lnlib.data import Images
from lnlib.experiments.recurrent_norms import METHODS, Stack, Statistics, pool
from lnlib.training import generators, sweep

__all__ = ["Run", "compare", "pixels", "train", "waiting"]


def pixels(images: Images) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test cases; pixels with mean 0 and standard deviation 1 over all of the training set."""
    mean, std = images.train_x.mean(), images.train_x.std()
    train_x, test_x = (((x - mean) / std).astype(np.float32) for x in (images.train_x, images.test_x))
    return train_x, images.train_y, test_x, images.test_y


def waiting(
    images: Float[Tensor, "N rows columns"], steps: int, generator: torch.Generator
) -> Float[Tensor, "T N D"]:
    """The inputs: the rows of each image from a random step on; elsewhere the least value of all.

    >>> waiting(torch.tensor([[[0.5, 0.0], [0.5, 1.0]]]), 4, torch.Generator().manual_seed(0))[:, 0]
    tensor([[0.0000, 0.0000],
            [0.0000, 0.0000],
            [0.5000, 0.0000],
            [0.5000, 1.0000]])
    """
    cases, rows, columns = images.shape
    x = images.amin().expand(steps, cases, columns).clone()
    begin = torch.randint(steps - rows + 1, (cases,), generator=generator)
    for row in range(rows):
        x[begin + row, torch.arange(cases)] = images[:, row]
    return x


@dataclass(frozen=True)
class Run:
    """One network after training. Errors are in per cent of the test cases.

    `by_length`: at each length of the sequences; `shared`: at the trained length, batch norm's stored
    statistics pooled over the steps (empty for others): "everywhere", or "recurrent", all but the input's.
    """

    method: str
    gain: float
    batch: int
    seed: int
    loss: Float[np.ndarray, " updates"]
    by_length: Mapping[int, float]
    shared: Mapping[str, float]


def compare(
    images: Images,
    jobs: Sequence[Mapping[str, Any]],
    *,
    seeds: Sequence[int],
    steps: int,
    units: int,
    updates: int,
    rate: float = 0.01,
    processes: int | None = None,
) -> list[Run]:
    """`train` for each job, a mapping with method, gains and batch, on a data set."""
    common = {"seeds": list(seeds), "steps": steps, "units": units, "updates": updates, "rate": rate}
    found = sweep(train, [{**job, **common} for job in jobs], common=(pixels(images),), processes=processes)
    return [run for runs in found for run in runs]


def train(
    arrays: tuple[np.ndarray, ...],
    *,
    method: str,
    gains: Sequence[float],
    batch: int,
    seeds: Sequence[int],
    steps: int,
    units: int,
    updates: int,
    rate: float,
) -> list[Run]:
    """Train one method by Adam from all gains and seeds, gradients clipped at norm 1, and test it.

    Networks of one seed see the same cases. Lengths at test: 1, 2 and 4 times the trained one.
    """
    X, Y, test_x, test_y = map(torch.from_numpy, arrays)
    order = [generators(seed)[1] for seed in seeds]
    stack = Stack(METHODS[method], X.shape[2], units, int(Y.max()) + 1, gains, seeds)
    optimizer, losses = torch.optim.Adam(stack.p.values(), rate), []
    for _ in range(updates):
        chosen = [torch.randint(len(X), (batch,), generator=g) for g in order]
        x = torch.stack([waiting(X[c], steps, g) for c, g in zip(chosen, order, strict=True)], 1)
        y = Y[torch.stack(chosen)].repeat(len(gains), 1)
        each = cross_entropy(stack(x.repeat(1, len(gains), 1, 1)).movedim(-1, 1), y, reduction="none").mean(1)
        optimizer.zero_grad()
        each.sum().backward()
        _clip([p.grad for p in stack.p.values() if p.grad is not None])
        optimizer.step()
        losses.append(each.detach())
    by_length, shared = _test(stack, waiting(X, steps, order[0]), test_x, test_y)
    loss = torch.stack(losses, 1).numpy()
    return [
        Run(
            method,
            gain,
            batch,
            seed,
            loss[k],
            {length: float(e[k]) for length, e in by_length.items()},
            {name: float(e[k]) for name, e in shared.items()},
        )
        for k, (gain, seed) in enumerate((gain, seed) for gain in gains for seed in seeds)
    ]


def _clip(gradients: Sequence[Float[Tensor, "S _ _"] | Float[Tensor, "S _"]], most: float = 1.0) -> None:
    """Scale each network's gradient to at most this norm, in place."""
    norm = torch.stack([g.flatten(1).square().sum(1) for g in gradients]).sum(0).sqrt()
    factor = (most / norm).clamp(max=1.0)
    for g in gradients:
        g *= factor.view(-1, *[1] * (g.dim() - 1))


@torch.no_grad()
def _test(
    stack: Stack,
    all_cases: Float[Tensor, "T N D"],
    x: Float[Tensor, "M rows columns"],
    y: Int64[Tensor, " M"],
) -> tuple[dict[int, Tensor], dict[str, Tensor]]:
    def error(length: int, statistics: Statistics | None) -> Float[Tensor, " S"]:
        shown = waiting(x, length, torch.Generator().manual_seed(length)).unsqueeze(1)
        answers = stack(shown.expand(-1, stack.size, -1, -1), statistics).argmax(-1)
        return 100 * (answers != y).float().mean(1)

    steps, shared = len(all_cases), {}
    stored = stack.population(all_cases) if stack.method.of_batch else None
    if stored is not None and stack.method.over == "cases":
        shared["everywhere"] = error(steps, pool(stored, ["ih", "hh", "cell"]))
        if stack.method.both:
            shared["recurrent"] = error(steps, pool(stored, ["hh", "cell"]))
    return {k * steps: error(k * steps, stored) for k in (1, 2, 4)}, shared

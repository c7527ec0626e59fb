r"""Section 4, measured: the digit that one has to wait for, by LSTMs normalized in several ways.

A page is blank; at a random step a digit begins to pass by, a row of pixels a step; after the last step the
network names it. The task is the same at any length, and a step's inputs have much the same distribution
whichever step it is, so that statistics of one step can stand in for those of another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.data import Images
from lnbook.pages.sec4_related_work.recurrent_norms import METHODS, Stack, Statistics, gradient_by_lag, pool
from lnbook.training import generators, sweep

START = {"batch": 0.1}  # where the gains of a method start, if not at 1
SMALL_BATCHES = ("none", "layer", "batch", "input, by sequence")


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
class Run:
    """One network after training, errors in percent of the test cases.

    `loss`: by update, NaN from where it diverged. `by_length`: the errors at each length of the sequences.
    `pooled`: batch norm's, its stored statistics of all steps pooled; NaN for other methods.
    """

    method: str
    gain: float
    batch: int
    seed: int
    loss: Float[np.ndarray, " updates"]
    by_length: Mapping[int, float]
    pooled: float


@dataclass(frozen=True)
class Runs:
    """All runs of a comparison."""

    steps: int
    all: Sequence[Run]

    def of(self, method: str, gain: float | None = None, batch: int = 32) -> list[Run]:
        """The runs of one setting, a seed each; the gain is the method's own if none is given."""
        wanted = method, START.get(method, 1.0) if gain is None else gain, batch
        return [run for run in self.all if (run.method, run.gain, run.batch) == wanted]

    def errors(
        self, method: str, gain: float | None = None, batch: int = 32, times: int = 1
    ) -> Float[np.ndarray, " seeds"]:
        """Test errors at so many times the trained length. A network that diverged guesses."""
        return np.array([run.by_length[times * self.steps] for run in self.of(method, gain, batch)])

    def panel(self, batch: int) -> dict[str, Float[np.ndarray, " seeds"]]:
        """The errors of each method that was trained on such batches; NaN where networks diverged."""
        found = {m: self.errors(m, batch=batch) for m in METHODS if self.of(m, batch=batch)}
        lost = {m for m in found if any(np.isnan(run.loss).any() for run in self.of(m, batch=batch))}
        return {m: np.full(len(e), np.nan) if m in lost else e for m, e in found.items()}


def compare(images: Images, *, steps: int, seeds: Sequence[int], processes: int | None, **sizes: int) -> Runs:
    """Train every method on batches of 32, batch and layer norm from two gains each; some on batches of 8."""
    jobs: list[dict[str, Any]] = []
    for method in METHODS:
        gains = [0.1, 1.0] if method in ("batch", "layer") else [1.0]
        jobs.append({"method": method, "gains": gains, "batch": 32})
        if method in SMALL_BATCHES:
            jobs.append({"method": method, "gains": [START.get(method, 1.0)], "batch": 8})
    common = {"seeds": list(seeds), "steps": steps, **sizes}
    found = sweep(train, [job | common for job in jobs], common=(pixels(images),), processes=processes)
    return Runs(steps, [run for runs in found for run in runs])


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
) -> list[Run]:
    """Train one method by Adam at 0.01 from all gains and seeds, gradients clipped at norm 1, and test it.

    Networks of one seed see the same cases. A network whose loss became NaN is left alone, and keeps NaN.
    Lengths at test: 1, 2 and 4 times the trained one.
    """
    X, Y, test_x, test_y = map(torch.from_numpy, arrays)
    order = [generators(seed)[1] for seed in seeds]
    stack = Stack(METHODS[method], X.shape[2], units, int(Y.max()) + 1, gains, seeds)
    optimizer = torch.optim.Adam(stack.p.values(), 0.01, fused=True)
    losses = torch.full((updates, stack.size), torch.nan)
    for k in range(updates):
        chosen = [torch.randint(len(X), (batch,), generator=g) for g in order]
        x = torch.stack([waiting(X[c], steps, g) for c, g in zip(chosen, order, strict=True)], 1)
        y = Y[torch.stack(chosen)].repeat(len(gains), 1)
        each = cross_entropy(stack(x.repeat(1, len(gains), 1, 1)).movedim(-1, 1), y, reduction="none").mean(1)
        losses[k] = each.detach()
        if losses[k].isnan().all():
            break  # all have diverged: nothing will bring them back
        optimizer.zero_grad()
        each.sum().backward()
        _clip([p.grad for p in stack.p.values() if p.grad is not None])
        optimizer.step()
    by_length, pooled = _test(stack, waiting(X, steps, order[0]), test_x, test_y)
    loss, settings = losses.T.numpy(), product(gains, seeds)
    return [
        Run(method, gain, batch, seed, loss[k], {n: float(e[k]) for n, e in by_length.items()}, float(p))
        for k, ((gain, seed), p) in enumerate(zip(settings, pooled, strict=True))
    ]


def first_gradients(
    images: Images,
    method: str,
    gain: float,
    *,
    seeds: Sequence[int],
    steps: int,
    units: int,
    batch: int = 128,
) -> Float[np.ndarray, "batches S T"]:
    """`gradient_by_lag` of networks at their start, on each batch of the first 128 training cases."""
    X, Y, *_ = map(torch.from_numpy, pixels(images))
    stack = Stack(METHODS[method], X.shape[2], units, int(Y.max()) + 1, [gain], seeds)
    x = waiting(X[:128], steps, torch.Generator().manual_seed(seeds[0]))
    parts = zip(x.unsqueeze(1).split(batch, 2), Y[:128].split(batch), strict=True)
    each = [
        gradient_by_lag(stack, some.expand(-1, stack.size, -1, -1), y.expand(stack.size, -1))
        for some, y in parts
    ]
    return torch.stack(each).numpy()


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
    stored = stack.population(all_cases) if stack.method.of_batch else None
    by_length = {k * steps: error(k * steps, stored) for k in (1, 2, 4)}
    return by_length, torch.full((stack.size,), torch.nan) if stored is None else error(steps, pool(stored))

r"""Does it matter which variant of a layer-normalized LSTM one trains? Two tasks, the same budget for all.

`mean_run`: read numbers one by one and say what they add up to. Their sum over $\sqrt T$ has variance 1, so
that the mean squared error is the unexplained part. `rows_run`: read a picture row by row and say which digit
it is. Ours: one LSTM and a linear map of its last h; Adam; the same weights, forget bias 1 and data for all
variants of one seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss

from lnbook.data import Images
from lnbook.pages.beyond_variants.measure import as_variant, settings
from lnbook.training import Minibatches, Row, fit, generators, sweep
from lnlib.rnn import LSTM

BLIND = 1 - 2 / np.pi  # what the signs of normal numbers leave unexplained of their sum


@dataclass(frozen=True)
class Scale:
    """How large the experiments are: seeds, hidden units, batch size, numbers to add up, updates."""

    seeds: int
    units: int
    batch: int
    numbers: int
    updates: int
    processes: int | None


SCALES = {
    "smoke": Scale(2, 16, 16, 10, 20, processes=1),
    "book": Scale(5, 32, 32, 10, 40, processes=1),
    "study": Scale(10, 32, 32, 20, 150, processes=None),
}


class Reader(nn.Module):
    """An LSTM, and a linear map of its last hidden state.

    The generator draws the weights, the same for every variant; biases are 0, the forget gate's 1.
    """

    def __init__(
        self, inputs: int, units: int, outputs: int, keywords: Mapping[str, Any], generator: torch.Generator
    ) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            self.lstm, self.out = LSTM(inputs, units, **keywords), nn.Linear(units, outputs)
        with torch.no_grad():
            for name, p in self.named_parameters():
                if "weight" in name:
                    p.copy_((2 * torch.rand(p.shape, generator=generator) - 1) / units**0.5)
                elif "bias" in name:
                    p.zero_()
            self.lstm.get_parameter("bias_hh_l0")[units : 2 * units] = 1

    def forward(self, x: Float[Tensor, "N T D"]) -> Float[Tensor, "N outputs"]:
        """Read sequences to their ends."""
        return self.out(self.lstm(x.transpose(0, 1))[1][0][-1])


def sums(
    length: int, cases: int, one: bool, generator: torch.Generator
) -> Iterator[tuple[Float[Tensor, "N T D"], Float[Tensor, "N 1"]]]:
    """Batches without end of standard normal numbers, alone or beside a 1, and their sum over sqrt(T)."""
    while True:
        x = torch.randn(cases, length, 1, generator=generator)
        y = x.sum(1) / length**0.5
        yield (torch.cat([x, torch.ones_like(x)], -1) if one else x), y


def mean_run(*, variant: str, one: bool, seed: int, scale: str) -> Row:
    """Train a variant to add numbers up; `unexplained` (%) is measured on 2000 fresh sequences."""
    size = SCALES[scale]
    weights, order = generators(seed)
    reader = Reader(1 + one, size.units, 1, settings(variant), weights)
    _train(reader, sums(size.numbers, size.batch, one, order), mse_loss, 0.01, size.updates)
    x, y = next(sums(size.numbers, 2000, one, order))
    with torch.no_grad():
        left = 100 * float(mse_loss(reader(x), y) / y.square().mean())
    return {"variant": variant, "one": one, "seed": seed, "unexplained": left}


def _train(reader: Reader, batches: Iterator[Any], loss: Any, rate: float, updates: int) -> None:
    optimizer = torch.optim.Adam(reader.parameters(), lr=rate)
    fit(reader, batches, loss, optimizer, updates=updates, every=updates)


Jobs = Sequence[tuple[str, Any]]  # a variant, and whether a 1 stands beside the numbers, or a rate
Arrays = tuple[
    Float[np.ndarray, "N h w"], Int64[np.ndarray, " N"], Float[np.ndarray, "M h w"], Int64[np.ndarray, " M"]
]


def pictures(images: Images) -> Arrays:
    """Training and test pictures, at most 20,000 and 1,000, less the mean pixel and over its deviation."""
    every = max(1, len(images.test_x) // 1000)
    x, test = images.train_x[:20_000], images.test_x[::every]
    mean, std = np.float32(x.mean()), np.float32(x.std())
    return (
        (x.astype(np.float32) - mean) / std,
        images.train_y[: len(x)],
        (test.astype(np.float32) - mean) / std,
        images.test_y[::every],
    )


def rows_run(arrays: Arrays, *, variant: str, rate: float, seed: int, scale: str) -> Row:
    """Train a variant to read pictures; the row has its test `error` in % and its `weights`."""
    size = SCALES[scale]
    x, y, test_x, test_y = map(torch.from_numpy, arrays)
    weights, order = generators(seed)
    reader = Reader(x.shape[2], size.units, 10, settings(variant), weights)
    _train(reader, Minibatches((x, y), size.batch, order), cross_entropy, rate, size.updates)
    kept = {name: p.detach().numpy() for name, p in reader.named_parameters()}
    error = _error(reader, test_x, test_y)
    return {"variant": variant, "rate": rate, "seed": seed, "error": error, "weights": kept}


def moves(
    runs: Sequence[Sequence[Row]], arrays: Arrays, eps: Sequence[float]
) -> Float[np.ndarray, "seeds variants columns"]:
    """Test errors (%) of trained readers, a list a variant, with their weights moved.

    Columns: the same variants in their order, at the usual epsilon, then the own variant at these epsilons.
    """
    x, y = map(torch.from_numpy, arrays[2:])
    variants = [settings(readers[0]["variant"]) for readers in runs]

    def errors(run: Row) -> list[float]:
        outputs, units = run["weights"]["out.weight"].shape
        reader = Reader(x.shape[2], units, outputs, settings(run["variant"]), torch.Generator())
        reader.load_state_dict({name: torch.from_numpy(p) for name, p in run["weights"].items()})
        trained, found = reader.lstm, []
        for keywords in [*variants, *(settings(run["variant"], e) for e in eps)]:
            reader.lstm = as_variant(trained, **keywords)
            found.append(_error(reader, x, y))
        return found

    return np.array([[errors(run) for run in readers] for readers in runs]).swapaxes(0, 1)


def runs(
    run: Callable[..., Row], jobs: Jobs, seeds: Sequence[int], scale: str, *common: Arrays
) -> dict[tuple[str, Any], list[Row]]:
    """`mean_run` for each variant, alone or beside a 1, and seed; or `rows_run` for each variant and rate."""
    second = "one" if run is mean_run else "rate"
    asked = [{"variant": v, second: option, "seed": s, "scale": scale} for v, option in jobs for s in seeds]
    found = iter(sweep(run, asked, common=common, processes=SCALES[scale].processes))
    return {job: [next(found) for _ in seeds] for job in jobs}


@torch.no_grad()
def _error(reader: Reader, x: Float[Tensor, "N h w"], y: Int64[Tensor, " N"]) -> float:
    return 100 * float((reader(x).argmax(1) != y).float().mean())

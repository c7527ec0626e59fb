"""Does it matter which variant of a layer-normalized LSTM one trains? Digits row by row, one budget for all.

Ours: one LSTM and a linear map of its last h; Adam; the same weights, forget bias 1 and data for all variants
of one seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lnbook.data import Images
from lnbook.pages.appendix_cells.variants import as_variant, settings
from lnbook.training import Minibatches, Row, fit, generators, sweep
from lnlib.rnn import LSTM, plain


@dataclass(frozen=True)
class Scale:
    """How large the experiments are: seeds, hidden units, batch size, updates."""

    seeds: int
    units: int
    batch: int
    updates: int
    processes: int | None


SCALES = {
    "smoke": Scale(2, 16, 16, 20, processes=1),
    "book": Scale(2, 32, 32, 40, processes=1),
    "study": Scale(10, 32, 32, 150, processes=None),
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
    optimizer = torch.optim.Adam(reader.parameters(), lr=rate)
    batches = Minibatches((x, y), size.batch, order)
    fit(reader, batches, cross_entropy, optimizer, updates=size.updates, every=size.updates)
    kept = {name: p.detach().numpy() for name, p in reader.named_parameters()}
    error = _error(reader, test_x, test_y)
    return {"variant": variant, "rate": rate, "seed": seed, "error": error, "weights": kept}


def moves(runs: Sequence[Sequence[Row]], arrays: Arrays) -> Float[np.ndarray, "seeds variants variants"]:
    """Test errors (%) of trained readers, a list a variant, with their weights in each of these variants."""
    x, y = map(torch.from_numpy, arrays[2:])
    variants = [settings(many[0]["variant"]) for many in runs]

    def errors(run: Row) -> list[float]:
        outputs, units = run["weights"]["out.weight"].shape
        reader = Reader(x.shape[2], units, outputs, settings(run["variant"]), torch.Generator())
        reader.load_state_dict({name: torch.from_numpy(p) for name, p in run["weights"].items()})
        trained, found = reader.lstm, []
        for keywords in variants:
            reader.lstm = as_variant(trained, **keywords)
            found.append(_error(reader, x, y))
        return found

    with plain():
        return np.array([[errors(run) for run in many] for many in runs]).swapaxes(0, 1)


def readers(
    jobs: Sequence[tuple[str, float]], seed: int, scale: str, arrays: Arrays
) -> dict[tuple[str, float], list[Row]]:
    """`rows_run` for each variant and rate, from this seed on; in this process without time to compile."""
    seeds = range(seed, seed + SCALES[scale].seeds)
    asked = [{"variant": v, "rate": rate, "seed": s, "scale": scale} for v, rate in jobs for s in seeds]
    with plain():
        found = iter(sweep(rows_run, asked, common=(arrays,), processes=SCALES[scale].processes))
    return {job: [next(found) for _ in seeds] for job in jobs}


@torch.no_grad()
def _error(reader: Reader, x: Float[Tensor, "N h w"], y: Int64[Tensor, " N"]) -> float:
    return 100 * float((reader(x).argmax(1) != y).float().mean())

r"""Section 3.1, measured: networks that read images row by row, in streams as long as one likes.

A stream is one image after the other, a row of pixels a step, and at the last row of each image the network
names its digit. So a sequence of any length is real data with many answers in it, and the task is the same at
any length.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from scipy.stats import ks_2samp
from torch import Tensor, nn

from lnbook.data import Images
from lnbook.data.images import Part
from lnbook.training import fit, generators, sweep
from lnlib.rnn import RNN
from lnlib.rnn.diagnostics import lyapunov, trace

NO_ANSWER = -100  # the target of a step at which no image ends: torch's cross entropy leaves it out
STEPS = 50  # of the streams in training
EARLY, LATE = 2, 50  # steps, counted from 1; both read the second row of an image of eight


class Streams:
    """Streams of one part of a data set, pixels scaled to mean 0 and standard deviation 1 in training."""

    def __init__(self, images: Images, part: Part) -> None:
        pixels, labels = images.flat(part)
        reference, _ = images.flat("train")
        self.side = images.train_x.shape[1]
        scaled = torch.from_numpy((pixels - reference.mean()) / reference.std())
        self.images, self.labels = scaled.unflatten(1, (self.side, -1)), torch.from_numpy(labels)

    def draw(
        self, steps: int, cases: int, generator: torch.Generator, *, anywhere: bool = False
    ) -> tuple[Float[Tensor, "T N D"], Int64[Tensor, "T N"]]:
        """Rows, and what to answer at each; beginning with an image's first row, or with any row."""
        chosen = torch.randint(len(self.images), (steps // self.side + 2, cases), generator=generator)
        x = self.images[chosen].transpose(1, 2).flatten(0, 1)
        y = torch.full((len(chosen), self.side, cases), NO_ANSWER)
        y[:, -1] = self.labels[chosen]
        first = torch.randint(self.side if anywhere else 1, (cases,), generator=generator)
        at = first + torch.arange(steps).unsqueeze(1)
        return x[at, torch.arange(cases)], y.flatten(0, 1).gather(0, at)


class Reader(nn.Module):
    """A recurrent network, and a linear map from its state to ten digits."""

    def __init__(self, rnn: RNN) -> None:
        super().__init__()
        self.rnn, self.readout = rnn, nn.Linear(rnn.hidden_size, 10)

    def forward(self, x: Float[Tensor, "T N D"]) -> Float[Tensor, "T N 10"]:
        return self.readout(self.rnn(x)[0])


def reader(norm: str, factor: float, seed: int, *, width: int = 8, **options: Any) -> Reader:
    r"""64 units at their start: $W_{hh}$ the factor times a rotation, $W_{xh}$ of variance 1/D, biases 0.

    A rotation keeps every length, so the factor is what $W_{hh}$ alone does to a state in one step. Networks
    of one seed have the same rotation and the same $W_{xh}$, whatever norm and factor.
    """
    rnn, (generator, _) = RNN(width, 64, norm=norm, **options), generators(seed)
    model = Reader(rnn)
    with torch.no_grad():
        nn.init.orthogonal_(rnn.all_weights[0][1], factor, generator=generator)
        nn.init.normal_(rnn.all_weights[0][0], std=width**-0.5, generator=generator)
        nn.init.normal_(model.readout.weight, std=1 / 8, generator=generator)
        for name, value in model.named_parameters():
            if "bias" in name:
                value.zero_()
    return model


def loss(logits: Float[Tensor, "T N 10"], y: Int64[Tensor, "T N"]) -> Float[Tensor, ""]:
    """Mean negative log likelihood of the digits, over the steps at which one ends."""
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=NO_ANSWER)


def train(
    images: Images,
    norm: str,
    factor: float,
    seed: int,
    *,
    updates: int = 200,
    anywhere: bool = False,
    **options: Any,
) -> Reader:
    """A network trained on streams of 50 steps, 32 at a time, by Adam at 0.003, no gradient clipped."""
    streams, (_, order) = Streams(images, "train"), generators(seed)
    model = reader(norm, factor, seed, width=streams.images.shape[2], **options)
    batches = (streams.draw(STEPS, 32, order, anywhere=anywhere) for _ in range(updates))
    adam = torch.optim.Adam(model.parameters(), 3e-3)
    fit(model, batches, loss, adam, updates=updates, every=updates)
    model.train(mode=False)
    return model


def growth(model: Reader, x: Float[Tensor, "T N D"]) -> float:
    """Largest Lyapunov exponent, mean over the streams: by how many nats per step gradients grow."""
    return float(lyapunov(model.rnn, x, skip=len(x) // 3).mean())


def growths(
    factors: Sequence[float], seeds: Sequence[int], x: Float[Tensor, "T N D"]
) -> dict[str, Float[np.ndarray, "seeds factors"]]:
    """The growth of networks at their start: plain, normalized as in Eq. (4), and each product by itself."""
    kinds: dict[str, dict[str, Any]] = {
        "none": {"norm": "none"},
        "layer": {"norm": "layer"},
        "separate": {"norm": "layer", "variant": "separate"},
    }
    return {
        kind: np.array([[growth(reader(factor=f, seed=s, **of), x) for f in factors] for s in seeds])
        for kind, of in kinds.items()
    }


def drift(model: Reader, x: Float[Tensor, "T N D"], after: int = 10) -> float:
    """By how many nats per step the spread of the summed inputs grows, by least squares, after some steps."""
    level = trace(model.rnn, x).std.log().mean(1)[after:]
    step = torch.arange(len(level), dtype=level.dtype)
    centered = step - step.mean()
    return float(centered @ level / centered.square().sum())


def change(rnn: RNN, x: Float[Tensor, "T N D"]) -> float:
    r"""$\max_z\lvert F_a(z)-F_b(z)\rvert$ of a unit's summed inputs at two steps; mean over the units."""
    a = trace(rnn, x[:LATE]).summed_inputs.numpy()
    pairs = zip(a[EARLY - 1].T, a[LATE - 1].T, strict=True)
    return float(np.mean([ks_2samp(*pair).statistic for pair in pairs]))


@dataclass(frozen=True)
class Run:
    """One trained network: the percentage of right answers by step."""

    norm: str
    seed: int
    anywhere: bool  # streams begin at any row
    within: float  # the steps of training, but for the first image
    beyond: float  # all steps after them
    change: float  # of the distribution of a unit's summed input, from an early to a late step


def measure(
    images: Images,
    norm: str,
    seed: int,
    *,
    length: int,
    updates: int,
    anywhere: bool = False,
    **options: Any,
) -> Run:
    """Train a network of factor 1 as :func:`train` does, and test it on streams of another length."""
    test = Streams(images, "test")
    model = train(images, norm, 1, seed, updates=updates, anywhere=anywhere, **options)
    draw = torch.Generator().manual_seed(1)
    short, long = (test.draw(t, n, draw, anywhere=anywhere) for t, n in ((200, 500), (length, 100)))
    within, beyond = (
        _right(model, *short, slice(test.side, STEPS)),
        _right(model, *long, slice(STEPS, length)),
    )
    return Run(norm, seed, anywhere, within, beyond, change(model.rnn, short[0]))


@torch.no_grad()
def _right(model: Reader, x: Tensor, y: Tensor, steps: slice) -> float:
    """Percentage of right answers at these steps."""
    right = (model(x).argmax(2) == y).float()
    return 100 * float(right[steps][y[steps] != NO_ANSWER].mean())


@dataclass(frozen=True)
class Scale:
    """How much is trained: updates, steps of the long streams, seeds, processes."""

    updates: int
    length: int
    few: int  # seeds of what only illustrates
    many: int  # seeds of what decides a claim
    processes: int | None


SCALES = {
    "smoke": Scale(20, 500, few=1, many=2, processes=1),
    "book": Scale(60, 1000, few=1, many=1, processes=1),
    "study": Scale(160, 5000, few=3, many=10, processes=None),
}


def compare(scale: str, seed: int, images: Images) -> list[Run]:
    """Networks with each norm on long streams; with batch norm also on streams that begin at any row."""
    size = SCALES[scale]
    jobs: list[dict[str, Any]] = []
    for norm in ("batch", "none", "layer"):
        for s in range(seed, seed + size.many):
            job = {"norm": norm, "seed": s, "updates": size.updates, "length": size.length}
            if norm == "batch":
                job["max_steps"] = STEPS
            jobs.append(job)
            if norm == "batch" and s < seed + size.few:
                jobs.append({**job, "anywhere": True})
    return sweep(measure, jobs, common=(images,), processes=size.processes)

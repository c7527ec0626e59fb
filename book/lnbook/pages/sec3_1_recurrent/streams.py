r"""Section 3.1, measured: networks that read images row by row, in streams as long as one likes.

A stream is one image after the other, a row of pixels a step, and at the last row of each image the network
names its digit. So a sequence of any length is real data with many answers in it, and the task is the same at
any length.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

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

# How much is trained and tested: updates, steps of the long streams, seeds of what only illustrates and of
# what decides a claim.
SIZES = {"smoke": (20, 500, 1, 2), "book": (60, 1000, 1, 1), "study": (160, 5000, 3, 10)}
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
    r"""64 units at their start, $W_{hh}$ the factor times a rotation, and a linear map to ten digits.

    A rotation keeps every length, so the factor is what $W_{hh}$ alone does to a state in one step. Networks
    of one seed have the same rotation and the same $W_{xh}$, of variance 1/D, whatever norm and factor.
    """

    def __init__(self, norm: str, factor: float, seed: int, **options: Any) -> None:
        super().__init__()
        self.rnn, self.readout = RNN(8, 64, norm=norm, **options), nn.Linear(64, 10)
        generator, _ = generators(seed)
        with torch.no_grad():
            nn.init.orthogonal_(self.rnn.all_weights[0][1], factor, generator=generator)
            nn.init.normal_(self.rnn.all_weights[0][0], std=8**-0.5, generator=generator)
            nn.init.normal_(self.readout.weight, std=1 / 8, generator=generator)
            for name, value in self.named_parameters():
                if "bias" in name:
                    value.zero_()

    def forward(self, x: Float[Tensor, "T N D"]) -> Float[Tensor, "T N 10"]:
        return self.readout(self.rnn(x)[0])


def train(images: Images, norm: str, seed: int, updates: int, *, anywhere: bool) -> Reader:
    """Train by Adam at 0.003, unclipped, on 32 streams of 50 steps an update; digits' ends have a loss."""
    streams, (_, order) = Streams(images, "train"), generators(seed)
    model = Reader(norm, 1, seed, **({"max_steps": STEPS} if norm == "batch" else {}))
    batches = (streams.draw(STEPS, 32, order, anywhere=anywhere) for _ in range(updates))

    def loss(logits: Float[Tensor, "T N 10"], y: Int64[Tensor, "T N"]) -> Float[Tensor, ""]:
        return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=NO_ANSWER)

    fit(model, batches, loss, torch.optim.Adam(model.parameters(), 3e-3), updates=updates, every=updates)
    return model.train(mode=False)


def growth(model: Reader, x: Float[Tensor, "T N D"]) -> float:
    """Largest Lyapunov exponent, mean over the streams: by how many nats per step gradients grow."""
    return float(lyapunov(model.rnn, x, skip=len(x) // 3).mean())


def growths(
    factors: Sequence[float], seeds: Sequence[int], x: Float[Tensor, "T N D"]
) -> dict[str, Float[np.ndarray, "seeds factors"]]:
    """The growth of networks at their start: plain, normalized as in Eq. (4), and each product by itself."""
    found = {}
    kinds = {"none": ("none", "paper"), "layer": ("layer", "paper"), "separate": ("layer", "separate")}
    for kind, (norm, variant) in kinds.items():
        rows = [[growth(Reader(norm, f, s, variant=variant), x) for f in factors] for s in seeds]
        found[kind] = np.array(rows)
    return found


def drift(model: Reader, x: Float[Tensor, "T N D"], after: int = 10) -> float:
    """By how many nats per step the spread of the summed inputs grows, by least squares, after some steps."""
    level = trace(model.rnn, x).std.log().mean(1)[after:].numpy()
    return float(np.polyfit(np.arange(len(level)), level, 1)[0])


def change(rnn: RNN, x: Float[Tensor, "T N D"]) -> float:
    r"""$\max_z\lvert F_a(z)-F_b(z)\rvert$ of a unit's summed inputs at two steps; mean over the units."""
    a = trace(rnn, x[:LATE]).summed_inputs.numpy()
    pairs = zip(a[EARLY - 1].T, a[LATE - 1].T, strict=True)
    return float(np.mean([ks_2samp(*pair).statistic for pair in pairs]))


class Run(NamedTuple):
    """One trained network."""

    norm: str
    anywhere: bool  # streams begin at any row
    lost: float  # points of right answers (%), from the steps of training, but the first image, to all later
    change: float  # of the distribution of a unit's summed input, from an early to a late step


def measure(images: Images, *, norm: str, anywhere: bool, seed: int, scale: str) -> Run:
    """Train a network as :func:`train` does, and test it on streams of another length."""
    updates, length, *_ = SIZES[scale]
    test, draw = Streams(images, "test"), torch.Generator().manual_seed(1)
    model = train(images, norm, seed, updates, anywhere=anywhere)
    short, long = (test.draw(t, n, draw, anywhere=anywhere) for t, n in ((200, 500), (length, 100)))
    within = _right(model, *short, slice(test.side, STEPS))
    beyond = _right(model, *long, slice(STEPS, length))
    return Run(norm, anywhere, within - beyond, change(model.rnn, short[0]))


@torch.no_grad()
def _right(model: Reader, x: Tensor, y: Tensor, steps: slice) -> float:
    """Percentage of right answers at these steps."""
    right = (model(x).argmax(2) == y).float()
    return 100 * float(right[steps][y[steps] != NO_ANSWER].mean())


def compare(scale: str, seed: int, images: Images) -> list[Run]:
    """Networks with each norm on long streams; with batch norm also on streams that begin at any row."""
    *_, few, many = SIZES[scale]
    jobs = [
        {"norm": norm, "anywhere": anywhere, "seed": seed + k, "scale": scale}
        for norm, anywhere in (("batch", False), ("batch", True), ("none", False), ("layer", False))
        for k in range(few if anywhere else many)
    ]
    return sweep(measure, jobs, common=(images,), processes=None if scale == "study" else 1)

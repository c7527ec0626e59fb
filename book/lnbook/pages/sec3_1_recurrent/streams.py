r"""Section 3.1, measured: networks that read images row by row, in streams as long as one likes.

A stream is one image after the other, a row of pixels a step, and at the last row of each image the network
names its digit. So a sequence of any length is real data with many answers in it, and the task is the same at
any length.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from matplotlib.figure import Figure
from scipy.stats import ks_2samp
from torch import Tensor, nn

from lnbook.data import Images
from lnbook.data.images import Part
from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.pages.sec3_1_recurrent.dynamics import LOOKS, Curve
from lnbook.training import fit, generators, sweep
from lnlib.rnn import RNN
from lnlib.rnn.diagnostics import lyapunov, trace

# How much is trained and tested: updates, steps of the long streams, seeds of what only illustrates and of
# what decides a claim.
SIZES = {"smoke": (20, 500, 1, 2), "book": (60, 1000, 1, 1), "study": (160, 5000, 3, 10)}
NO_ANSWER = -100  # the target of a step at which no image ends: torch's cross entropy leaves it out
STEPS = 50  # of the streams in training
EARLY, LATE = 2, 50  # steps, counted from 1; both read the second row of an image of eight


def draw(
    images: Images, part: Part, steps: int, cases: int, generator: torch.Generator, *, anywhere: bool = False
) -> tuple[Float[Tensor, "T N D"], Int64[Tensor, "T N"]]:
    """Streams of one part: rows, and what to answer at each; from an image's first row on, or from any.

    Pixels are scaled to mean 0 and standard deviation 1 in training.
    """
    (pixels, labels), (reference, _) = images.flat(part), images.flat("train")
    side = images.train_x.shape[1]
    rows = torch.from_numpy((pixels - reference.mean()) / reference.std()).unflatten(1, (side, -1))
    chosen = torch.randint(len(rows), (steps // side + 2, cases), generator=generator)
    x = rows[chosen].transpose(1, 2).flatten(0, 1)
    y = torch.full((len(chosen), side, cases), NO_ANSWER)
    y[:, -1] = torch.from_numpy(labels)[chosen]
    first = torch.randint(side if anywhere else 1, (cases,), generator=generator)
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
    _, order = generators(seed)
    model = Reader(norm, 1, seed, **({"max_steps": STEPS} if norm == "batch" else {}))
    batches = (draw(images, "train", STEPS, 32, order, anywhere=anywhere) for _ in range(updates))

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


def measure(images: Images, *, norm: str, anywhere: bool, seed: int, scale: str) -> dict[str, Any]:
    """Train a network as :func:`train` does, test it on streams of another length, and take its `change`.

    Lost are points of right answers (%), from the steps of training, but the first image, to all later steps.
    """
    updates, length, *_ = SIZES[scale]
    generator, first = torch.Generator().manual_seed(1), images.train_x.shape[1]
    model, right, streams = train(images, norm, seed, updates, anywhere=anywhere), [], []
    for steps, cases, part in ((200, 500, slice(first, STEPS)), (length, 100, slice(STEPS, length))):
        x, y = draw(images, "test", steps, cases, generator, anywhere=anywhere)
        with torch.no_grad():
            correct = (model(x).argmax(2) == y).float()[part]
        right.append(100 * float(correct[y[part] != NO_ANSWER].mean()))
        streams.append(x)
    moved = change(model.rnn, streams[0])
    return {"norm": norm, "anywhere": anywhere, "lost": right[0] - right[1], "change": moved}


def compare(scale: str, seed: int, images: Images) -> list[dict[str, Any]]:
    """Networks with each norm on long streams; with batch norm also on streams that begin at any row."""
    *_, few, many = SIZES[scale]
    jobs = [
        {"norm": norm, "anywhere": anywhere, "seed": seed + k, "scale": scale}
        for norm, anywhere in (("batch", False), ("batch", True), ("none", False), ("layer", False))
        for k in range(few if anywhere else many)
    ]
    return sweep(measure, jobs, common=(images,), processes=None if scale == "study" else 1)


def story(
    sizes: Mapping[str, Curve], by_lag: Mapping[tuple[str, float], Curve], distances: Mapping[str, Curve]
) -> Figure:
    """Sizes of states by step, gradients by lag at two factors of the weights, distances of two copies."""
    fig, (left, middle, right) = plots.subplots(1, 3, figsize=(7.2, 3))
    beside = {"va": "center", "size": 10}  # a line's end, its name
    for name, values in sizes.items():
        left.semilogy(values, **LOOKS["layer" if name == "layer norm" else "none"])
        on.name(left, name, [len(values)], values, (4, 0), **beside)
    left.set(title="size of the state", xlabel="step", xlim=(0, 190), xticks=(0, 50, 100))
    for (norm, factor), values in by_lag.items():
        middle.semilogy(values, **LOOKS[norm])
        if norm == "layer" or factor > 1:  # below 1 the two lines are one
            on.name(middle, f"{factor:g}x", [len(values)], values, (4, 0), **beside)
    middle.set(title="gradient", xlabel="steps back", xlim=(0, 70), xticks=(0, 25, 50))
    places = ("layer", [175], [1e-3]), ("inputs", [105], [1e-14]), ("none", [62], [1e-18])
    for (name, values), (look, x, y) in zip(distances.items(), places, strict=True):
        right.semilogy(values, **LOOKS[look])
        on.name(right, name, x, y, (0, 0), **beside)
    right.set(title="distance of two copies", xlabel="step", xlim=(0, 330), ylim=(1e-20, 1e2))
    for ax in (left, middle, right):
        on.decades(ax.yaxis, ticks=6)
    return fig

r"""A ConvNet on pictures of clothes with each normalization: does layer norm fall behind, and why?

*Source* Section 6.7, which reports preliminary experiments and gives no network, no data and no numbers.
Where each of our settings comes from stands at the end, in `EXPERIMENT.settings`; the normalizations are in
`model`.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch
from jaxtyping import UInt8
from matplotlib.figure import Figure
from torch import Tensor, nn

from lnbook.curves import Mean
from lnbook.data import Images, load
from lnbook.figures import plots
from lnbook.pages.sec6_7_convnets.model import ConvNet, Layers, columns
from lnbook.shared import learning_curves
from lnbook.shared.classifiers import Classifier
from lnbook.shared.studies import jobs_of
from lnbook.training import Cases, Experiment, Job, Machine, Minibatches, Settings, generators

NORMS: tuple[str, ...] = ("none", "batch", "layer", "position", "group", "instance")
RATE, BATCH = 1e-3, 64  # of Adam, where no other is named
RATES = (3e-4, 3e-3, 1e-2, 3e-2)  # the others, of two passes
LONGER = (3e-3, 1e-2)  # the others, of ten
WATCHED = 250  # test cases behind the statistics of layers
CASES = 60_000  # of Fashion-MNIST, which the studies' epochs are counted in
SMALL = 16  # pixels


@dataclass(frozen=True)
class Study:
    """Runs that differ in norm, step size and seed."""

    norms: Sequence[str]
    data: str
    epochs: float  # passes over the training cases; need not be whole
    seeds: int  # runs of each norm
    rows: int  # of a run after its first
    padding: str = "zeros"  # what lies around a picture, and around each layer's input
    pictures: str = "centered"  # as published, or each `rolled` by an offset of its own
    rates: Sequence[float] = (RATE,)  # Adam's step sizes


LAYERS = {  # channels and strides
    "smoke": ((8, 8, 16), (1, 1, 2)),
    "book": ((8, 16, 16, 32), (1, 2, 1, 2)),
    "study": ((16, 16, 32, 32), (1, 2, 1, 2)),
}
PLAIN: tuple[str, ...] = ("none", "batch", "layer")  # that the paper compares
PAIR: tuple[str, ...] = ("layer", "batch")
APART: tuple[str, ...] = ("layer, border apart", "batch, border apart")
LABELS = learning_curves.LABELS | {
    "position": "layer norm, each position",
    "group": "group norm",
    "instance": "instance norm",
}


def _studies(data: str, epochs: float, seeds: int, rows: int) -> list[Study]:
    """All norms; then what the boundary does to two: a border apart, pictures and worlds without one."""
    size = (data, epochs, seeds, rows)
    return [
        Study(NORMS, *size),
        Study(APART, *size),
        Study(PAIR, *size, pictures="rolled"),
        Study(PAIR, *size, padding="circular", pictures="rolled"),
    ]


STUDIES: dict[str, list[Study]] = {
    "smoke": _studies("digits", epochs=1, seeds=2, rows=2),
    "book": [Study(PLAIN, "fashion_mnist", epochs=0.18, seeds=1, rows=3)],
    "study": [
        *_studies("fashion_mnist", epochs=2, seeds=5, rows=20),
        Study(PLAIN, "fashion_mnist", epochs=2, seeds=5, rows=20, rates=RATES),
        Study(NORMS, "fashion_mnist", epochs=10, seeds=5, rows=20),
        Study(PLAIN, "fashion_mnist", epochs=10, seeds=5, rows=20, rates=LONGER),
        Study(PLAIN, "mnist", epochs=10, seeds=5, rows=20),
    ],
}
LAST = {"smoke": 0, "book": 1000, "study": 0}  # cases of a part in the last row; 0: all


def layers_of(scale: str, images: Images) -> Layers:
    """Channels and strides: `LAYERS`; smoke's for pictures so small that the last layers were all border."""
    return LAYERS["smoke" if images.train_x.shape[-1] < SMALL else scale]


def _jobs(studies: Mapping[str, Sequence[Study]], scale: str, seed: int) -> list[Job]:
    """The runs of a scale, seeds outermost."""
    if scale not in studies:
        raise ValueError(
            "Section 6.7 names no network, no data and no numbers, so nothing can be run as in the paper; "
            'ours is scale "study".'
        )
    return sorted(jobs_of(studies[scale], seed), key=lambda job: int(job["seed"]))


class Classification(Classifier):
    """One run on one set of pictures; a stand-in of few cases takes as many updates as clothes."""

    evaluation_batch = 125  # two to three times as fast as 1000: layers of so many pictures fit into a cache

    def __init__(self, job: Job, scale: str, machine: Machine) -> None:
        weights, order, offsets = generators(job["seed"], 3)
        images = load(job["data"], on_stand_in="silent")
        self.peak, self.dtype, self.device = images.peak, machine.dtype, machine.device
        (x, y), test, valid = (
            _cases(images, p, job["pictures"], offsets) for p in ("train", "test", "valid")
        )
        kind = layers_of(scale, images), job["norm"], weights, job["padding"]
        model = ConvNet(x.shape[-1], int(y.max()) + 1, *kind)
        self.model: nn.Module = model.to(machine.device, machine.dtype)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=job["rate"], fused=True)
        self.batches = Minibatches((x, y), BATCH, order, machine.group)
        own = images.provenance["name"] == images.provenance["requested"]
        self.updates = max(1, round(job["epochs"] * ((len(x) if own else CASES) // BATCH)))
        self.every = -(-self.updates // job["rows"])
        self.parts, self.last_parts = (
            {"test": _some(test, number), "valid": _some(valid, number)} for number in (1000, LAST[scale])
        )
        self.watched = _some(test, WATCHED)[0]

    def overall(self, model: nn.Module) -> dict[str, float]:
        """`columns` of few test pictures, whose own statistics batch norm takes: it begins with none."""
        net = cast(ConvNet, copy.deepcopy(model).train())
        with torch.no_grad():
            return columns(net.layers(self.scaled(self.watched.to(self.device))), net.over)


def _cases(images: Images, part: str, pictures: str, generator: torch.Generator) -> Cases:
    x, y = (torch.from_numpy(getattr(images, f"{part}_{axis}")) for axis in "xy")
    return (x if pictures == "centered" else rolled(x, generator))[:, None], y


def _some(cases: Cases, number: int) -> Cases:
    step = len(cases[0]) // number if 0 < number < len(cases[0]) else 1
    return tuple(a[::step][: number or None] for a in cases)


def rolled(pixels: UInt8[Tensor, "N h w"], generator: torch.Generator) -> UInt8[Tensor, "N h w"]:
    """Each picture moved around by any offset: all positions see the same, such pictures have no border."""
    n, h, w = pixels.shape
    down, right = (torch.randint(size, (n, 1), generator=generator) for size in (h, w))
    rows, across = (torch.arange(h) + down) % h, (torch.arange(w) + right) % w
    return pixels.take_along_dim(rows[:, :, None], 1).take_along_dim(across[:, None], 2)


def dots(panels: Mapping[str, Mapping[str, Mean]], xlabel: str) -> Figure:
    """One panel per measure, one line per method: mean and 95 % interval over seeds, and a line at 0."""
    names = list(next(iter(panels.values())))
    size = (5.9, 0.45 * len(names) + 1.2)
    fig, axes = plots.subplots(1, len(panels), figsize=size, sharey=True, squeeze=False)
    for ax, (title, means) in zip(axes[0], panels.items(), strict=True):
        ax.axvline(0, color=plots.INK, linewidth=0.8)
        value, low, high, _ = np.transpose([*means.values()])
        ax.errorbar(value, range(len(names)), xerr=[value - low, high - value], fmt="o", capsize=3)
        ax.set(title=title, xlabel=xlabel, ylim=(len(names) - 0.5, -0.5))
    axes[0, 0].set_yticks(range(len(names)), [LABELS.get(name, name) for name in names])
    return fig


EXPERIMENT = Experiment(
    "convnet",
    lambda scale, seed: _jobs(STUDIES, scale, seed),
    Classification,
    Settings(
        paper="None: preliminary experiments without network, data or numbers.",
        sources="None.",
        ours="Four 3 x 3 convolutions that halve the picture twice, each normalized before its ReLU, then "
        "a linear map of all units; He's initial weights, Adam, batches of 64, Fashion-MNIST, the last 5,000 "
        "training cases for validation.",
        differs='There is nothing to deviate from, and so no scale "paper".',
        study="Channels of 16, 16, 32, 32; two passes and ten; three norms at other step sizes and on MNIST.",
    ),
    data=lambda job, scale: [job["data"]],
)


def _own(name: str, epochs: int, rates: Sequence[float]) -> Experiment:
    """Step sizes chosen on validation pictures, with seeds that no rule has seen.

    An experiment of its own, so that its record keeps the rules that were written before its runs.
    """
    studies = {
        "smoke": [Study(PLAIN, "digits", epochs=1, seeds=2, rows=2, rates=(RATE, RATES[0]))],
        "study": [Study(PLAIN, "fashion_mnist", epochs, seeds=5, rows=20, rates=rates)],
    }
    return replace(EXPERIMENT, name=name, jobs=lambda scale, seed: _jobs(studies, scale, seed + 100))


OWN = _own("convnet_own", 2, (RATE, *RATES))
OWN_TEN = _own("convnet_own_ten", 10, (RATE, *LONGER))

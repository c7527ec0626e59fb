r"""A ConvNet on pictures of clothes with each normalization: does layer norm fall behind, and why?

*Source* Section 6.7 reports preliminary experiments and gives no network, no data and no numbers. Ours: four
3 x 3 convolutions that halve the picture twice, each with its normalization before a ReLU, then a linear map
of all units to the classes; He's initial weights, Adam, batches of 64, Fashion-MNIST. The normalizations are
in `convnet_model`.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from lnlib.data import Images, find, load
from lnlib.experiments.classifiers import calibration_error, measures
from lnlib.experiments.convnet_model import ConvNet, Norm, Padding
from lnlib.experiments.convnet_statistics import columns
from lnlib.training import Cases, Experiment, Job, Machine, Minibatches, Task, generators

__all__ = ["EXPERIMENT", "LAYERS", "NORMS", "STUDIES", "Classification", "Pictures", "Study", "rolled"]

Pictures = Literal["centered", "rolled"]
NORMS: tuple[Norm, ...] = ("none", "batch", "layer", "position", "group", "instance")
BATCH, WATCHED = 64, 250  # cases of an update, and of the statistics of layers


@dataclass(frozen=True)
class Study:
    """Runs that differ in norm, padding, pictures, step size and seed.

    Args:
        norms: which.
        epochs: passes over the training cases; need not be whole.
        seeds: how many runs of each kind.
        rows: of a run after its first.
        padding: what lies around a picture, and around each layer's input.
        pictures: as published, "centered"; or each "rolled" around by an offset of its own (`rolled`).
        rates: Adam's step sizes.
        groups: how many, for "group".
        data: the set; a study of one that is not there and has no stand-in is left out.
    """

    norms: Sequence[Norm]
    epochs: float
    seeds: int
    rows: int
    padding: Sequence[Padding] = ("zeros",)
    pictures: Sequence[Pictures] = ("centered",)
    rates: Sequence[float] = (1e-3,)
    groups: Sequence[int] = (4,)
    data: str = "fashion_mnist"


LAYERS = {  # channels and strides
    "smoke": ((8, 8, 16), (1, 1, 2)),
    "book": ((16, 16, 32, 32), (1, 2, 1, 2)),
    "paper": ((16, 16, 32, 32), (1, 2, 1, 2)),
}

PAIR: tuple[Norm, ...] = ("layer", "batch")
APART: tuple[Norm, ...] = ("layer, border apart", "batch, border apart", "layer, unit gains")

STUDIES: dict[str, list[Study]] = {
    "smoke": [
        Study(NORMS, epochs=3, seeds=2, rows=3, data="digits"),
        Study(APART, epochs=3, seeds=2, rows=3, data="digits"),
    ],
    "book": [Study(NORMS, epochs=0.2, seeds=3, rows=4)],
    "paper": [  # half a pass: what two cores do in a quarter of an hour
        Study(NORMS, epochs=0.5, seeds=5, rows=4),
        Study(APART, epochs=0.5, seeds=5, rows=4),
        Study(PAIR, epochs=0.5, seeds=5, rows=4, padding=("circular",), pictures=("centered", "rolled")),
        Study(PAIR, epochs=0.5, seeds=5, rows=4, pictures=("rolled",)),
        Study(NORMS, epochs=20, seeds=5, rows=20, data="cifar10"),
    ],
}


def _jobs(scale: str, seed: int) -> list[Job]:
    found: list[Job] = []
    for study in STUDIES[scale]:
        if study.data == "cifar10" and find(study.data) == "absent":
            continue
        kinds = product(
            range(study.seeds), study.padding, study.pictures, study.rates, study.groups, study.norms
        )
        for k, padding, pictures, rate, groups, norm in kinds:
            job: dict[str, str | float] = {"norm": norm, "padding": padding, "pictures": pictures}
            job |= {"rate": rate, "groups": groups, "data": study.data, "epochs": study.epochs}
            job["rows"] = study.rows
            found.append(job | {"seed": seed + k})
    return sorted(found, key=lambda job: int(job["seed"]))


def _task(job: Job, scale: str, machine: Machine) -> Task:
    settings = dict(job)
    return Classification(load(settings.pop("data")), *LAYERS[scale], machine, **settings)


class Classification(Task):
    """One run on one set of pictures.

    Args:
        images: the cases.
        channels, strides: of the layers.
        machine: where to compute.
        norm, padding, pictures, rate, groups, epochs, rows, seed: as in `Study`.
        updates: instead of `epochs`.
        quick: measure all but the last row on so many cases of a part, evenly spread; 0: on all.
    """

    def __init__(
        self,
        images: Images,
        channels: Sequence[int],
        strides: Sequence[int],
        machine: Machine,
        *,
        norm: Norm,
        seed: int,
        rows: int,
        epochs: float = 0.0,
        updates: int = 0,
        padding: Padding = "zeros",
        pictures: Pictures = "centered",
        rate: float = 1e-3,
        groups: int = 4,
        quick: int = 1000,
    ) -> None:
        weights, order, offsets = generators(seed, 3)
        self.peak, self.dtype, self.device = images.peak, machine.dtype, machine.device
        parts = {part: _cases(images, part, pictures, offsets) for part in ("train", "test")}
        x, y = parts.pop("train")
        model = ConvNet(x.shape[1:], int(y.max()) + 1, channels, strides, norm, weights, padding, groups)
        self.model: nn.Module = model.to(machine.device, machine.dtype)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=rate, fused=True)
        self.batches = Minibatches((x, y), BATCH, order, rank=machine.rank, world=machine.world)
        self.updates = updates or max(1, round(epochs * (len(x) // BATCH)))
        self.every = -(-self.updates // rows)
        self.parts = self.last_parts = parts
        if quick:
            self.parts = {k: tuple(a[:: max(1, len(a) // quick)] for a in v) for k, v in parts.items()}
        self.watched = parts["test"][0][:: max(1, len(parts["test"][0]) // WATCHED)]

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        return F.cross_entropy(model(self.scaled(cases[0])), cases[1])

    def measure(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Mapping[str, Tensor]:
        return measures(model(self.scaled(cases[0])), cases[1])

    def summary(self, means: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return calibration_error(means)

    def overall(self, model: nn.Module) -> dict[str, float]:
        """`convnet_statistics.columns` on a few hundred test pictures."""
        net = cast(ConvNet, model)
        return columns(self.layers(net), net.over)

    def layers(self, model: ConvNet) -> list[tuple[Tensor, Tensor]]:
        """Summed inputs and what the ReLU receives, in each layer, for the watched test pictures.

        Batch norm takes these pictures' own statistics: before training it has no others.
        """
        with torch.no_grad():
            return copy.deepcopy(model).train().layers(self.scaled(self.watched.to(self.device)))

    def scaled(self, pixels: UInt8[Tensor, "N *channels h w"]) -> Float[Tensor, "N _ h w"]:
        """Pixels from 0 to 1, with an axis of channels."""
        x = pixels.to(self.dtype).div_(self.peak)
        return x if x.ndim == 4 else x[:, None]


def _cases(images: Images, part: str, pictures: Pictures, generator: torch.Generator) -> Cases:
    x, y = (torch.from_numpy(getattr(images, f"{part}_{axis}")) for axis in "xy")
    return (x if pictures == "centered" else rolled(x, generator)), y


def rolled(
    pixels: UInt8[Tensor, "N *channels h w"], generator: torch.Generator
) -> UInt8[Tensor, "N *channels h w"]:
    """Each picture moved around by an offset of its own, what leaves on one side coming in on the other.

    Every offset is as likely, so that all positions see the same: such pictures have no border.
    """
    n, (h, w) = len(pixels), pixels.shape[-2:]
    down, right = (torch.randint(size, (n, 1), generator=generator) for size in (h, w))
    rows, columns_ = (torch.arange(h) + down) % h, (torch.arange(w) + right) % w
    flat = pixels.reshape(n, -1, h, w)
    each = torch.arange(n)[:, None, None, None]
    moved = flat[
        each, torch.arange(flat.shape[1])[:, None, None], rows[:, None, :, None], columns_[:, None, None]
    ]
    return moved.reshape(pixels.shape)


EXPERIMENT = Experiment(
    "convnet",
    "6.7",
    "a ConvNet with each normalization, and where its boundary units stand",
    _jobs,
    _task,
)

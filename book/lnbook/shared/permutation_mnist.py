r"""Permutation invariant MNIST: a 784-1000-1000-10 network with each normalization at each batch size.

*Source* Section 6.6 and Figure 6. Where each setting comes from stands at the end, in `EXPERIMENT.settings`.
Added to the paper's two norms: none, RMS, weight norm, layer norm on the logits too, batch norm on the hidden
layers only; and batch size 1.

Every normalization acts on the summed inputs, before the nonlinearity. A layer has one bias: the
normalization's own, or the linear map's where there is none (RMS norm has none, and stays without).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Literal

import torch
from torch import nn

from lnbook.data import Images, load
from lnbook.shared.classifiers import BatchNorm, Classifier, initialize
from lnbook.shared.studies import jobs_of
from lnbook.training import Cases, Experiment, Job, Machine, Minibatches, Settings, Task, generators
from lnlib.linear import Linear
from lnlib.norms import modules

Norm = Literal["none", "batch", "layer", "rms", "weight", "layer, logits too", "batch, hidden only"]
NORMS: tuple[Norm, ...] = ("none", "batch", "layer")  # of the comparison


@dataclass(frozen=True)
class Study:
    """Runs of several norms and seeds."""

    norms: Sequence[Norm]
    batch_size: int
    epochs: float
    seeds: int  # of each norm and step size
    rows: int  # after the first
    rates: Sequence[float] = (1e-3,)  # Adam's step sizes
    quick: int = 0  # as in `Classification`


LARGE = ("book", "study", "paper")
DATA = dict.fromkeys(LARGE, "mnist") | {"smoke": "digits"}
HIDDEN = dict.fromkeys(LARGE, (1000, 1000)) | {"smoke": (64, 64), "book": (100, 100)}
LOGITS: tuple[Norm, ...] = ("layer, logits too", "batch, hidden only")
OTHERS: tuple[Norm, ...] = ("rms", "weight", "layer, logits too")

STUDIES: dict[str, list[Study]] = {
    "smoke": [
        Study((*NORMS, *LOGITS), 128, epochs=8, seeds=2, rows=4),
        Study(NORMS, 4, epochs=0.5, seeds=2, rows=4),
    ],
    "book": [Study((*NORMS, *LOGITS), 128, epochs=1, seeds=1, rows=8, quick=1000)],
    "study": [
        Study(NORMS, 4, epochs=2, seeds=8, rows=8),
        Study(NORMS, 1, epochs=0.25, seeds=8, rows=5),
        Study(NORMS, 128, epochs=5, seeds=5, rows=5, rates=(3e-5, 1e-4, 3e-4, 3e-3, 1e-2)),
        Study(("batch",), 4, epochs=2, seeds=5, rows=8, rates=(1e-4, 3e-4, 3e-3)),
        Study(("layer",), 4, epochs=2, seeds=5, rows=8, rates=(3e-5, 1e-4, 3e-4)),
        Study(OTHERS, 128, epochs=15, seeds=5, rows=15),
        Study(("batch, hidden only",), 128, epochs=60, seeds=5, rows=60),
    ],
    "paper": [  # Figure 6, left; its right half: `RIGHT`
        Study(NORMS, 128, epochs=60, seeds=5, rows=60),
    ],
}
FIRST, SEEDS = 200, 8  # of `RIGHT`: no rule has seen them; the condition of `s66-right-*` says why so many

PREVIEWS: dict[str, tuple[int, dict[int, int]]] = {  # seeds, and updates at each batch size
    "smoke": (1, {128: 120, 4: 300, 1: 300}),
    "book": (1, {128: 160, 4: 240, 1: 240}),
    "study": (10, {128: 280, 4: 500, 1: 500}),
}


def preview(scale: str, seed: int) -> list[Job]:
    """The first updates at batch sizes 128, 4 and 1: jobs for `lnbook.training.runs.run`."""
    seeds, updates = PREVIEWS[scale]
    return [
        {"norm": norm, "batch_size": size, "updates": count, "rows": 8, "quick": 1000}
        | {"whole": False, "seed": seed + k}
        for (size, count), norm, k in product(updates.items(), NORMS, range(seeds))
    ]


def _jobs(scale: str, seed: int) -> list[Job]:
    """As recorded: no `quick` where there is none."""
    return [{k: v for k, v in job.items() if k != "quick" or v} for job in jobs_of(STUDIES[scale], seed)]


def _task(job: Job, scale: str, machine: Machine) -> Task:
    images = load(DATA[scale], on_stand_in="silent")  # pages and stored rows say which data they show
    return Classification(images, HIDDEN[scale], machine, **job)


class Classification(Classifier):
    """One run on one set of pictures, their pixels in an order that the network cannot know.

    With `quick`, rows are measured on about so many test cases, evenly spread, but the last on all if it is
    to be `whole`, and no model is selected. `updates` count instead of `epochs`, `units` for `hidden`.
    """

    model: nn.Sequential
    batches: Minibatches

    def __init__(
        self,
        images: Images,
        hidden: Sequence[int],
        machine: Machine,
        *,
        norm: Norm,
        batch_size: int,
        seed: int,
        rows: int,
        epochs: float = 0.0,
        updates: int = 0,
        rate: float = 1e-3,
        quick: int = 0,
        whole: bool = True,
        optimizer: Literal["adam", "sgd"] = "adam",
        units: int = 0,
    ) -> None:
        weights, order = generators(seed)
        hidden = (units,) * len(hidden) if units else hidden
        sizes = (images.train_x[0].size, *hidden, int(images.train_y.max()) + 1)
        unbiased = 1 < batch_size < 128
        self.model = network(sizes, norm, weights, unbiased=unbiased).to(machine.device, machine.dtype)
        method = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[optimizer]
        self.optimizer = method(self.model.parameters(), lr=rate, fused=True)
        self.peak, self.dtype = images.peak, machine.dtype
        parts: dict[str, Cases] = {part: _cases(images, part) for part in ("train", "valid", "test")}
        self.batches = Minibatches(parts.pop("train"), batch_size, order, machine.group)
        self.updates = updates or max(1, round(epochs * (len(images.train_x) // batch_size)))
        self.every = -(-self.updates // rows)
        self.parts, self.select = parts, "valid_nll"
        if quick:
            self.last_parts, self.select = {"test": parts["test"]} if whole else None, None
            stride = max(1, len(parts["test"][0]) // quick)
            self.parts = {"test": tuple(a[::stride] for a in parts["test"])}


def _cases(images: Images, part: str) -> Cases:
    x, y = (torch.from_numpy(getattr(images, f"{part}_{axis}")) for axis in "xy")
    return x.flatten(1), y


def network(
    units: Sequence[int], norm: Norm, generator: torch.Generator, *, unbiased: bool = False
) -> nn.Sequential:
    """A fully connected ReLU network from inputs to logits, normalized as Section 6.6 says.

    "batch" and "layer, logits too" normalize the logits as well; "weight" gives every layer's weights a
    length of their own. The weights are He's (normal, variance 2 / inputs), the same for every `norm`.
    """
    layers: list[nn.Module] = []
    for level, (inputs, outputs) in enumerate(pairwise(units)):
        is_last = level == len(units) - 2
        normalization = _normalization(norm, outputs, is_last, unbiased)
        layers.append(_linear(inputs, outputs, norm, normalization is None, generator))
        layers += [] if normalization is None else [normalization]
        layers += [] if is_last else [nn.ReLU()]
    return nn.Sequential(*layers)


def _normalization(norm: Norm, units: int, is_last: bool, unbiased: bool) -> nn.Module | None:
    if norm in ("none", "weight") or (is_last and norm not in ("batch", "layer, logits too")):
        return None
    if norm in ("batch", "batch, hidden only"):
        return BatchNorm(units, unbiased=unbiased)
    return modules.RMSNorm(units, eps=1e-5) if norm == "rms" else modules.LayerNorm(units)


def _linear(inputs: int, outputs: int, norm: Norm, bias: bool, generator: torch.Generator) -> nn.Module:
    layer = nn.utils.skip_init(Linear, inputs, outputs, bias=bias)  # draws nothing from the global state
    initialize(layer, generator)
    if norm != "weight":
        return layer
    normalized = nn.utils.skip_init(modules.WeightNormLinear, inputs, outputs, bias=bias)
    lengths = torch.linalg.vector_norm(layer.weight.detach(), dim=1, keepdim=True)
    normalized.load_state_dict(
        {"weight_v": layer.weight.detach(), "weight_g": lengths, "bias": layer.bias.detach()}
    )
    return normalized


EXPERIMENT = Experiment(
    "permutation_mnist",
    _jobs,
    _task,
    Settings(
        paper="784-1000-1000-10, 55,000 training cases, Adam, batches of 128 and 4, layer norm on the "
        "hidden layers only, batch norm on all three, its variance unbiased at the smaller batch "
        "size; 60 passes in Figure 6.",
        sources="None are named.",
        ours="ReLU, He's initial weights, one bias a layer, pixels scaled to [0, 1], Adam's default step "
        "size 0.001, an epsilon of 1e-5 in both norms, running averages with momentum 0.1 for batch norm's "
        "evaluation, the last 5,000 training cases for validation, several runs of each network.",
        differs="None from what the paper says.",
        study="Batches of 4 for two passes and of 1 for a quarter; other step sizes; RMS and weight norm, "
        "norms on and off the logits.",
    ),
    data=lambda job, scale: [DATA[scale]],
)


def _right(scale: str, seed: int) -> list[Job]:
    paper = scale == "paper"
    settings = {"batch_size": 4, "rate": 1e-3, "epochs": 60 if paper else 0.5, "rows": 60 if paper else 4}
    seeds = range(seed + FIRST, seed + FIRST + (SEEDS if paper else 2))
    return [{"norm": norm, **settings, "seed": s} for s, norm in product(seeds, NORMS)]


# Figure 6, right, at the paper's size: an experiment of its own, so that its record keeps the rules that were
# written before its runs.
RIGHT = replace(EXPERIMENT, name="permutation_mnist_right", jobs=_right, graphs=True)

r"""DRAW on binarized MNIST, without a norm, with layer norm on the LSTMs' cells, and with norm propagation.

*Source* Section 6.4, Figure 4, and Eqs. (29)-(31); Gregor and others (2015). Where each setting comes from
stands at the end, in `EXPERIMENT.settings`. Scale "study" has 16 glimpses through windows that read as many
points in all; "book" has fewer glimpses, units and updates; "smoke" runs on the 8x8 digits. Norm propagation
has runs in "study", of the same seeds, and one in "smoke".
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor, nn

from lnbook.data import load
from lnbook.figures import plots
from lnbook.pages.sec6_4_draw.model import Draw, Nats
from lnbook.shared.learning_curves import Curve, lines
from lnbook.shared.studies import NORMS, jobs_of
from lnbook.training import (
    Cases,
    Experiment,
    Job,
    Machine,
    Minibatches,
    Settings,
    Task,
    generators,
    noise_of,
    step,
    torch_threads,
)  # fmt: skip


@dataclass(frozen=True)
class Study:
    """Runs that differ in norm and seed; the fields are columns of the rows."""

    glimpses: int
    units: int
    codes: int
    read: int
    write: int
    batch_size: int  # cases of an update
    updates: int
    rows: int  # of a run after its first
    quick: int  # measure all but the last row on so many cases of a part; 0: on all
    seeds: int = 3  # runs of each norm
    norms: tuple[str, ...] = NORMS
    rate: float = 1e-3  # Adam's step size, by default its own


EPOCH = 50_000 // 128
DATA = dict.fromkeys(("book", "study", "paper"), "binarized_mnist") | {"smoke": "binarized_digits"}
SMOKE = Study(4, 32, 8, read=3, write=3, batch_size=64, updates=120, rows=6, quick=100, seeds=1)
LARGER = Study(16, 256, 100, read=4, write=5, batch_size=128, updates=2 * EPOCH, rows=13, quick=500)
OTHER_RATES = (3e-4, 3e-3, 1e-2)  # of the study
STUDIES = {
    "smoke": [replace(SMOKE, norms=("propagation",)), SMOKE],
    "book": [Study(8, 64, 16, 5, 5, batch_size=32, updates=150, rows=1, quick=250, seeds=1, rate=5e-3)],
    "study": [
        *(replace(LARGER, rate=rate, seeds=5) for rate in OTHER_RATES),
        *(replace(LARGER, rate=rate, seeds=5, norms=("propagation",)) for rate in (1e-3, *OTHER_RATES)),
        replace(LARGER, seeds=8),
    ],
    "paper": [
        Study(64, 256, 100, read=2, write=5, batch_size=128, updates=200 * EPOCH, rows=200, quick=0, seeds=10)
    ],
}


# Ten passes at the paper's size: three step sizes of one seed, five seeds at each network's own.
FULL, EARLY_RATES, CHOOSING = STUDIES["paper"][0], (3e-4, 1e-3, 3e-3), 300
EARLY = replace(FULL, updates=10 * EPOCH, rows=10)
OWN = {"none": 1e-3, "layer": 1e-3}  # that with the lowest last validation bound of the seed that chooses


def _early(scale: str, seed: int) -> list[Job]:
    if scale != "paper":
        return jobs_of([replace(SMOKE, seeds=2)], seed)
    first = seed + CHOOSING
    choosing = jobs_of([replace(EARLY, rate=rate, seeds=1) for rate in EARLY_RATES], first)
    return choosing + jobs_of([replace(EARLY, rate=OWN[n], norms=(n,), seeds=5) for n in OWN], first + 1)


class Drawing(Task):
    """One run on one set of pictures, whose pixels are 0 or 1."""

    model: Draw
    select = "valid_bound"
    clip = 10.0
    evaluation_batch = 250

    def __init__(self, job: Job, scale: str, machine: Machine) -> None:
        weights, order = generators(job["seed"])
        images = load(DATA[scale], on_stand_in="silent")
        settings = {key: job[key] for key in ("units", "codes", "norm", "read", "write")}
        model = Draw(images.train_x.shape[1], **settings, generator=weights)
        self.model = model.to(machine.device, machine.dtype)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=job["rate"], fused=True)
        self.optimizer.register_step_post_hook(lambda *_: self.model.project())
        self.glimpses, self.codes, self.machine = job["glimpses"], job["codes"], machine
        if machine.device.type == "cuda":
            self.evaluation_batch = 10_000
        train, valid, test = map(torch.from_numpy, (images.train_x, images.valid_x, images.test_x))
        self.batches = Minibatches((train,), job["batch_size"], order, machine.group)
        self.updates, self.every = job["updates"], -(-job["updates"] // job["rows"])
        self.parts = self.last_parts = {"valid": (valid,), "test": (test,)}
        if quick := job["quick"]:
            self.parts = {name: (x[:: max(1, len(x) // quick)],) for name, (x,) in self.last_parts.items()}

    def drawn(self, cases: Cases, noise: torch.Generator) -> Cases:
        (pixels,) = cases
        epsilon = torch.randn(self.glimpses, len(pixels), self.codes, generator=noise)
        device, dtype = self.machine.device, self.machine.dtype
        return pixels.to(device, dtype), epsilon.to(device, dtype)

    def bound(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Nats:
        """Of each case."""
        log_loss, divergence, _ = model(*(cases if len(cases) == 2 else self.drawn(cases, noise)))
        return log_loss + divergence

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        return self.bound(model, cases, noise).mean()

    def measure(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Mapping[str, Tensor]:
        return {"bound": self.bound(model, cases, noise).double().sum()}


def trained(job: Job, scale: str) -> Drawing:
    """A run to its last update, with nothing measured on the way."""
    task = Drawing(job, scale, Machine())
    with torch_threads(1):
        for k in range(task.updates):
            step(task, task.model, next(task.batches), noise_of(job["seed"], k))
    return task


def box(windows: Float[Tensor, "N 5"], points: int, side: int) -> Float[np.ndarray, "N 3"]:
    """Left, top, width of square windows, each point as wide as the stride; pixels span 0 to 1, 1 to 2, ...

    >>> box(torch.zeros(1, 5), 2, side=28).round(1).tolist()  # points on the corners' pixels, each 27 wide
    [[-13.0, -13.0, 54.0]]
    """
    center = (side + 1) / 2 * (windows[:, :2] + 1) - 0.5
    width = points * (side - 1) / max(points - 1, 1) * windows[:, 3:4].exp()
    return torch.cat([center - width / 2, width], 1).numpy()


def windows(
    picture: Float[np.ndarray, "A A"],
    seen: Mapping[str, tuple[Float[np.ndarray, " 3"], Float[np.ndarray, "P P"]]],
    painted: Float[np.ndarray, "A A"],
) -> Figure:
    """A picture with windows (left, top, width) on it, what each reads, and the canvas painted back."""
    fig, axes = plots.subplots(1, 2 + len(seen), figsize=(7.4, 2.1))
    panels = {"the picture": picture, **{k: patch for k, (_, patch) in seen.items()}, "painted back": painted}
    for ax, (title, shown) in zip(axes, panels.items(), strict=True):
        h, w = shown.shape
        # ink on paper: 1 is dark
        ax.imshow(shown, cmap="Greys", vmin=0, vmax=1, extent=(0, w, h, 0), interpolation="nearest")
        ax.set(xticks=[], yticks=[], title=title)
        ax.grid(visible=False)
        ax.spines[:].set_visible(True)
    for ax, style, (place, patch) in zip(axes[1:], ("-", "--"), seen.values(), strict=False):
        for on, (left, top, width), wide in ((axes[0], place, 1.8), (ax, (0, 0, len(patch)), 3)):
            frame = Rectangle((left, top), width, width, fill=False, zorder=5, ls=style, lw=wide)
            frame.set_edgecolor(plots.COLORS["batch"])
            on.add_patch(frame)
    return fig


def own_rates(rows: pd.DataFrame) -> dict[str, float]:
    """For each norm, the step size of the run with the lowest last validation bound."""
    ends = rows[rows["update"] == rows["update"].max()]
    return ends.loc[ends.groupby("norm")["valid_bound"].idxmin()].set_index("norm")["rate"].to_dict()


def beside_printed(bounds: Mapping[str, Curve], printed: Mapping[str, float]) -> Figure:
    """Test bounds against epochs, with lines at the printed bounds after all 200."""
    fig, ax = plots.subplots(figsize=(6.0, 3.2))
    lines(ax, bounds.items())
    for norm, end in printed.items():
        ax.axhline(end, color=plots.COLORS[norm], lw=1)
    ax.annotate("printed, after 200 epochs", (1, max(printed.values()) + 2))
    ax.set(xlabel="epochs", ylabel="test bound (nats)", ylim=(79, None))
    ax.legend(loc="upper right")
    return fig


EXPERIMENT = Experiment(
    "draw",
    lambda scale, seed: jobs_of(STUDIES[scale], seed),
    Drawing,
    Settings(
        paper="64 glimpses, LSTMs of 256 units, Adam with its defaults, batches of 128, 200 passes, 50,000 "
        "training pictures of Larochelle and Murray's binarization, the bound on 10,000 test "
        "pictures.",
        sources="Gregor and others (2015): 100 codes a glimpse, windows of 2 x 2 points to read and 5 x 5 to "
        "write.",
        ours="Initial weights: uniform within 1/16; the windows begin as tilings of the picture. The "
        "gradient's 2-norm is clipped at 10, as in the best known open implementation (Bornschein, 2015). "
        "That one starts from normal weights of deviation 0.01, and its step size is 0.0003, its batch 100.",
        differs="Canvas and states before the first glimpse | Learned. | 0.",
        study="16 glimpses through windows of 4 x 4 points, two passes; four step sizes; norm propagation "
        "beside both.",
    ),
    data=lambda job, scale: [DATA[scale]],
)
EARLY_EXPERIMENT = replace(EXPERIMENT, name="draw_early", jobs=_early, graphs=True)

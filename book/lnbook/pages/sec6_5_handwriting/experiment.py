r"""Handwriting from text: Graves' synthesis network, without a norm and with layer norm in its LSTMs.

*Source* Section 6.5, Figure 5, and Eqs. (20)-(22); Graves (2013). Where each setting comes from stands at
the end, in `EXPERIMENT.settings`. Scale "paper" takes IAM-OnDB, which needs a registration, "study" lines
composed of Omniglot's letters, "book" fewer of them. "smoke" has generated strokes, as `KNOWN`, which a page
trains on; their likelihood is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnbook.data.strokes import Lines, Part, Wanted, load_lines
from lnbook.pages.sec6_5_handwriting.model import Handwriting
from lnbook.shared.studies import NORMS, jobs_of
from lnbook.training import Cases, Experiment, Job, LengthBatches, Machine, Row, Settings, Task, generators
from lnbook.training.runs import run


@dataclass(frozen=True)
class Study:
    """Runs that differ in norm and seed; the fields are columns of the rows."""

    data: str  # a name of `load_lines`
    units: int  # of each layer
    components: int  # Gaussians of the pen
    lines: int  # to train on
    judged: int  # to validate on, and as many to test on; all that there are, if these are more
    longest: int  # characters of a line at most, where lines are composed
    points: int  # of longer lines the first so many points
    back: int  # gradients go back so many points, states are carried on; 0: through all
    rate: float  # Adam's step size
    updates: int
    rows: int  # of a run after its first
    batch_size: int = 8
    seeds: int = 3  # runs of each norm
    norms: tuple[str, ...] = NORMS


EPOCH = 12_179 * 9 // 10 // 8
KNOWN = Study("generated_strokes", 32, 5, 500, 40, 8, 80, 0, 0.01, 120, 5)
_LAPTOP = Study("omniglot_strokes", 128, 20, 12_000, 100, 16, 500, 125, 0.003, 500, 10, seeds=8)
RATES = (0.003, 0.001, 0.01, 0.03)  # the first is that of the smaller studies
STUDIES = {
    "smoke": [Study("generated_strokes", 16, 4, 300, 60, 6, 50, 25, 0.01, 60, 3, seeds=1)],
    "book": [Study("omniglot_strokes", 64, 10, 2000, 60, 10, 250, 125, 0.003, 120, 6)],
    "study": [
        *(replace(_LAPTOP, rate=rate) for rate in RATES),
        replace(_LAPTOP, updates=3000, seeds=1, norms=("layer",)),
    ],
    "paper": [Study("iam_ondb", 400, 20, 12_179, 12_179, 100, 500, 0, 0.001, 20 * EPOCH, 100)],
}

SIZES = ((2, 8), (4, 8), (8, 8), (16, 8), (4, 2), (4, 32))  # for Section 7: characters, lines of a batch


def _sizes(scale: str, seed: int) -> list[Job]:
    """Lines and batches of several sizes, gradients through all points; seeds outermost."""
    smoke = replace(STUDIES["smoke"][0], updates=6, rows=2, seeds=2)
    base = replace(_LAPTOP if scale == "study" else smoke, back=0)
    studies = [
        replace(base, longest=n, points=n * base.points // 16, batch_size=batch, rate=rate)
        for n, batch in SIZES
        for rate in (0.003, 0.01)
    ]
    return sorted(jobs_of(studies, seed), key=lambda job: int(job["seed"]))


def lines_of(job: Job) -> Lines:
    """The lines that a run of these settings takes."""
    least, judged = max(1, job["longest"] - 4), job["judged"]
    wanted = Wanted(job["lines"], judged, judged, least, job["longest"], points=job["points"])
    return load_lines(job["data"], wanted, on_stand_in="silent")


def cases_of(part: Part) -> Cases:
    """Points, their numbers, texts, theirs, and the exact likelihoods or NaN; short lines first."""
    order = np.argsort(part.lengths, kind="stable")
    exact = np.full(len(order), np.nan) if part.exact is None else part.exact
    arrays = (part.points, part.lengths, part.texts, part.letters, exact)
    return tuple(torch.from_numpy(array[order]) for array in arrays)


class Writing(Task):
    """One run on one set of lines."""

    select = "valid_nats"
    clip = 1.0
    evaluation_batch = 50

    def __init__(self, job: Job, scale: str, machine: Machine) -> None:
        weights, order = generators(job["seed"])
        lines = lines_of(job)
        parts = {part: cases_of(getattr(lines, part)) for part in ("train", "valid", "test")}
        points, lengths, _, letters, _ = train = parts.pop("train")
        sizes = {"characters": len(lines.alphabet), "components": job["components"], "norm": job["norm"]}
        pace = float(letters.sum() / lengths.sum())
        model = Handwriting(job["units"], **sizes, pace=pace, generator=weights)
        self.model = model.to(machine.device, machine.dtype)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=job["rate"], fused=True)
        steps = torch.stack([lengths + 1, letters], 1)
        self.batches = LengthBatches(train, steps, job["batch_size"], order, machine.group, cut=[0, 2])
        self.updates, self.every, self.parts = job["updates"], -(-job["updates"] // job["rows"]), parts
        self.machine, self.back, self.longest = machine, job["back"], points.shape[1] - 1

    def nats(self, model: nn.Module, cases: Cases) -> Float[Tensor, " N"]:
        """The negative log-likelihood of each line."""
        points, lengths, texts, letters, _ = cases
        points = points[:, : int(lengths.max()) + 1].to(self.machine.dtype)
        return model(points, lengths, texts, letters, self.back)

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        """Nats a line over the points of the longest line: a constant, so that clipping sees usual sizes."""
        return self.nats(model, cases).mean() / self.longest

    def measure(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Mapping[str, Tensor]:
        nats = self.nats(model, cases).double().sum()
        return {"nats": nats, "points": cases[1].double().sum(), "exact": cases[4].sum()}


def known(scale: str, seed: int) -> list[Row]:
    """Runs on strokes of known likelihood, which a page makes: five seeds at scale "study", else one."""
    kind = STUDIES["smoke"][0] if scale == "smoke" else replace(KNOWN, seeds=5 if scale == "study" else 1)
    outcomes = run(EXPERIMENT, scale, jobs=jobs_of([kind], seed))
    return [row for outcome in outcomes for row in outcome.rows]


EXPERIMENT = Experiment(
    "handwriting",
    lambda scale, seed: jobs_of(STUDIES[scale], seed),
    Writing,
    Settings(
        paper="Three layers of 400 LSTM units, 20 Gaussians for the pen, 10 for the window, 57 characters, "
        "batches of 8 lines, sequences of 500 points, Adam; IAM-OnDB.",
        sources="Graves (2013): the network.",
        ours="Step size 0.001; 27,400 updates (20 passes over nine tenths of the lines, 41 over the "
        "published training set); initial weights uniform within 1/20; lines of similar lengths in a batch; "
        "the 2-norm of the gradient of nats a point clipped at 1; steps of the pen divided by their "
        "deviation over the training lines, which shifts nats by a constant.",
        differs="Sequences of 500 points | The paper does not say how lines of 700 points on average are "
        "cut. | The first 500 points of a line, with its whole text.\n"
        "LSTM | Graves' has peepholes, from the cell to the gates. | Equations (17) to (22) have none.\n"
        "Parts | Graves trained on all but the smaller validation set and had no test set; the paper does "
        "not say. | Where the lists of the published task lie beside the data: its training set, first "
        "validation set and final test set. Else drawn at random: no form is in two parts, but a writer may "
        "be.",
        study="Lines composed of Omniglot's letters, 128 units, step sizes 0.001, 0.003, 0.01 and "
        "0.03, 500 updates, gradients through 125 points.",
    ),
    # lines are composed of Omniglot's letters, and of the words of novels
    data=lambda job, scale: [job["data"]] + (["gutenberg"] if job["data"] == "omniglot_strokes" else []),
)
SIZES_EXPERIMENT = replace(EXPERIMENT, name="handwriting_sizes", jobs=_sizes)

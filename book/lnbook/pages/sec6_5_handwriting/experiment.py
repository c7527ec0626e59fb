r"""Handwriting from text: Graves' synthesis network, without a norm and with layer norm in its LSTMs.

*Source* Section 6.5, Figure 5, and Eqs. (20)-(22); Graves (2013). Where each setting comes from stands at
the end, in `EXPERIMENT.settings`. Scale "paper" takes IAM-OnDB, which needs a registration, "study" lines
composed of Omniglot's letters, "book" fewer of them. "smoke" has generated strokes, as `KNOWN`, which a page
trains on; their likelihood is known.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32
from matplotlib.figure import Figure
from torch import Tensor, nn

from lnbook.data.strokes import Lines, Part, Wanted, encode, load_lines
from lnbook.figures import plots
from lnbook.ledger.rows import book_dir
from lnbook.pages.sec6_5_handwriting.model import Handwriting, draw, mixture
from lnbook.shared.studies import NORMS, jobs_of
from lnbook.training import Cases, Experiment, Job, LengthBatches, Machine, Row, Settings, Task, generators
from lnbook.training.runs import run
from lnbook.training.sweeps import torch_threads
from lnlib.rnn import plain


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

MOST = 600  # points of a line that is written
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


@torch.no_grad()
def write(
    model: Handwriting, alphabet: str, asked: Sequence[tuple[str, float]], generator: torch.Generator
) -> list[tuple[Float32[np.ndarray, "S 3"], Float32[np.ndarray, "T U"]]]:
    """Lines that a network writes, each point drawn from its mixture, and the window's weights behind each.

    `asked` are a text and Graves' b for each line: 0 for fair samples, more for neat ones. A line ends when
    the window looks more at the place behind the text than at any of its characters, or after `MOST` points.

    *Source* Graves (2013), section 5.4; the end as in his section 5.3.
    """
    numbers = [torch.from_numpy(encode(text, alphabet)) for text, _ in asked]
    texts = torch.nn.utils.rnn.pad_sequence(numbers, batch_first=True)
    letters, bias = torch.tensor([len(n) for n in numbers]), torch.tensor([b for _, b in asked])
    point = torch.tensor([[[0.0, 0.0, 1.0]]]).expand(1, len(asked), 3)
    state: Sequence[Any] = (None, None, None)
    points, looks, ends = [point[0]], [], torch.full((len(asked),), MOST)
    # for one step alone the kernels would prepare, and several threads wait, longer than the step takes
    with torch_threads(1), plain():
        for step in range(MOST):
            y, phi, state = model.steps(point, texts, letters, state)
            looks.append(phi[0])
            h, _, _, kappa = state[0]
            alpha, beta, _ = model.first.window(h).exp().chunk(3, 1)
            behind = (alpha * (-beta * (kappa - letters[:, None]).square()).exp()).sum(1)
            ends = torch.where((behind > phi[0].amax(1)) & (ends == MOST), step, ends)
            if (ends < MOST).all():
                break
            point = draw(mixture(y[0], bias), generator)[None]
            points.append(point[0])
    drawn, seen = torch.stack(points, 1).numpy(), torch.stack(looks, 1).numpy()
    lines = zip(drawn, seen, ends.clamp_min(1).tolist(), letters.tolist(), strict=True)
    return [(line[: end + 1], phi[:end, :U]) for line, phi, end, U in lines]


def trained() -> tuple[Handwriting, dict[str, Any]]:
    """The network of the long run, from its weights in 16 bits, and its `job` with its data's `alphabet`."""
    with np.load((book_dir() or Path()) / "results/study/handwriting_weights.npz") as held:
        arrays = dict(held)
    facts = json.loads(str(arrays.pop("facts")))
    job, characters = facts["job"], len(facts["alphabet"])
    sizes = {"components": job["components"], "norm": job["norm"], "characters": characters}
    model = Handwriting(job["units"], **sizes, generator=torch.Generator())
    model.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    return model, facts


def written(lines: Sequence[tuple[str, Sequence[Float[np.ndarray, "_ 2"]]]]) -> Figure:
    """Lines of writing below each other, to one measure, each under its title."""
    spans = [np.concatenate([*strokes]) for _, strokes in lines]
    widest, heights = max(np.ptp(span[:, 0]) for span in spans), [np.ptp(span[:, 1]) for span in spans]
    size = (7.0, min(6.8 * sum(heights) / widest, 5) + 0.35 * len(lines))  # strokes may wander down
    fig, axes = plots.subplots(len(lines), 1, figsize=size, height_ratios=heights)
    for ax, (title, strokes), span in zip(axes, lines, spans, strict=True):
        ax.set_title(title, fontsize=10, loc="left", parse_math=False)
        for stroke in strokes:
            ax.plot(*stroke.T, marker="." if len(stroke) == 1 else "", color=plots.INK, lw=1.3, ms=3)
        ax.set_xlim(span[:, 0].min() - 0.02 * widest, span[:, 0].min() + 1.02 * widest)
        ax.set_aspect("equal")
        ax.axis("off")
    return fig


def reading(phi: Float[np.ndarray, "T U"], text: str) -> Figure:
    """The window's weight of each character, of its greatest one, at each point of a written line."""
    fig, ax = plots.subplots(figsize=(7.0, 3.5))
    shown = phi / phi.max(1, keepdims=True)
    ax.imshow(shown.T, cmap=plots.AMOUNT, aspect="auto", interpolation="nearest", rasterized=True)
    ax.set_yticks(range(len(text)), [c if c.strip() else "␣" for c in text], fontsize=8)
    ax.set(xlabel="points of the pen", ylabel="characters")
    ax.grid(visible=False)
    return fig


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

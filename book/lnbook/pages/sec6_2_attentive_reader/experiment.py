r"""The attentive reader on questions whose answers are anonymous entities: no norm, batch norm, layer norm.

*Source* Section 6.2 and Figure 2; Cooijmans and others (2016); each setting's at the end. Scale "paper" takes
CNN's questions and the reader of the public code, "study" cloze questions from books, with two starts; "book"
is smaller, and "smoke" reads generated stories, whose best possible error is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import isqrt

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from lnbook.data.questions import permute
from lnbook.data.readings import FIRST_MARKER, Readings, load_readings
from lnbook.data.text import UNKNOWN
from lnbook.pages.sec6_2_attentive_reader.model import RELEASED, AttentiveReader
from lnbook.shared import learning_curves
from lnbook.training import Cases, Experiment, Job, LengthBatches, Machine, Settings, Task, generators

Kind = tuple[str, float, str]  # norm, gain at the start, start of the weights
CHOSEN = {"none": 1.0, "batch": 0.1, "batch everywhere": 0.1, "layer": 1.0}  # gains by Figure 2's authors
KINDS: tuple[Kind, ...] = tuple((norm, gain, "small") for norm, gain in CHOSEN.items())
GAINS: tuple[Kind, ...] = (*KINDS, ("batch", 1.0, "small"), ("layer", 0.1, "small"))
UNIT: tuple[Kind, ...] = (("none", 1.0, "unit"), ("layer", 1.0, "unit"))
LABELS = learning_curves.LABELS | {"batch everywhere": "batch norm everywhere"}
TUNED: tuple[Kind, ...] = tuple(kind for kind in KINDS if kind[0] != "batch everywhere")


@dataclass(frozen=True)
class Study:
    """Runs that differ in norm, gain, start and seed; the fields from `data` to `rows` are columns."""

    kinds: Sequence[Kind]
    data: str  # as in `load_readings`
    units: int  # of the LSTMs, and entries of a word's vector
    words: int  # in the vocabulary
    markers: int  # entities of a question
    rate: float  # Adam's step size
    batch_size: int  # cases of an update
    updates: int
    rows: int  # of a run after its first
    seeds: int = 3  # runs of each kind


_STUDY = Study((*GAINS, *UNIT), "gutenberg", 64, 1000, 10, 2e-3, 64, 300, rows=12, seeds=8)
STUDIES = {
    "smoke": [Study(KINDS, "stories", 32, 60, 6, 1e-2, 64, updates=24, rows=1, seeds=1)],
    "book": [Study(KINDS, "gutenberg", 32, 1000, 20, 8e-3, 32, updates=40, rows=1, seeds=1)],
    "study": [_STUDY]
    + [replace(_STUDY, kinds=TUNED, rate=rate) for rate in (1e-3, 4e-3, 8e-3, 16e-3, 32e-3)],
    "paper": [Study(GAINS, "cnn", 240, 50_000, 100, 8e-5, 64, 800_000, 800)],
}

# of the scale "book": books with many short questions, found in seconds
TITLES = ("Anna Karenina", "The Adventures of Tom Sawyer, Complete", "White Fang", "Anne of Green Gables")


def readings_of(job: Job, scale: str) -> Readings:
    """The questions of a study; without the books, or if asked for, generated stories."""
    titles, limit = TITLES if scale == "book" else None, 300 if scale == "smoke" else None
    return load_readings(job["data"], markers=job["markers"], words=job["words"], titles=titles, limit=limit)


def _jobs(scale: str, seed: int) -> list[Job]:
    # the passages of "cnn" are always cut so
    released = {"cut": "top4", **RELEASED} if scale == "paper" else {}
    found: list[Job] = []
    for study in STUDIES[scale]:
        settings = asdict(study)
        kinds, seeds = settings.pop("kinds"), settings.pop("seeds")
        for k, (norm, gain, start) in product(range(seeds), kinds):
            kind = {"norm": norm, "gain": gain, "start": start}
            found.append({**kind, **settings, **released, "seed": seed + k})
    return found


class PairBatches(LengthBatches):
    """`LengthBatches` of two sequences: a pool is parted by the second, shorter one, sorted by the first."""

    def _arrange(self, order: Tensor) -> list[Tensor]:
        first, second = self.lengths.unbind(1)
        batches: list[Tensor] = []
        for some in order.split(self.pool * self.batch_size):
            groups = max(2, isqrt(len(some) // self.batch_size))  # of whole batches
            size = self.batch_size * -(-len(some) // (self.batch_size * groups))
            for group in some[second[some].argsort(stable=True)].split(size):
                batches += group[first[group].argsort(stable=True)].split(self.batch_size)
        whole = [batch for batch in batches if len(batch) == self.batch_size]
        return [whole[k] for k in torch.randperm(len(whole), generator=self.generator).tolist()]


class Reading(Task):
    """One run on one set of questions."""

    select = "valid_error"
    clip = 10.0
    evaluation_batch = 200

    def __init__(self, readings: Readings, machine: Machine, job: Job) -> None:
        weights, order = generators(job["seed"])
        self.readings, self.machine = readings, machine
        sizes = len(readings.vocabulary), readings.markers
        settings = {key: job[key] for key in ("units", "norm", "gain", "start")}
        settings |= {"longest": readings.longest, "released": job.items() >= RELEASED.items()}
        model = AttentiveReader(*sizes, **settings, generator=weights)
        self.model = model.to(machine.device, machine.dtype)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=job["rate"], fused=True)
        train, size, group = readings.train, job["batch_size"], machine.group
        self.batches = PairBatches(train, torch.stack(train[1:4:2], 1), size, order, group, cut=(0, 2))
        self.parts = {"valid": readings.valid}
        self.updates, self.every = job["updates"], -(-job["updates"] // job["rows"])

    def read(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> tuple[Tensor, Tensor, Cases]:
        """Scores and attention after a new permutation of the markers, and the cases that were read."""
        passages, lengths, queries, query_lengths, answers = cases
        if not model.training:
            passages = passages[:, : int(lengths.max())]
        markers = {"first": FIRST_MARKER, "markers": self.readings.markers}
        passages, queries, answers = permute(passages, queries, answers, **markers, generator=noise)
        scores, attention = model(passages, lengths, queries, query_lengths, noise)
        return scores, attention, (passages, lengths, queries, query_lengths, answers)

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        scores, _, (*_, answers) = self.read(model, cases, noise)
        return F.cross_entropy(scores, answers)

    def measure(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Mapping[str, Tensor]:
        """Error and log-loss; and how much of the attention lies on the answer's marker."""
        scores, attention, (passages, *_, answers) = self.read(model, cases, noise)
        on_answer = passages == answers[:, None] + FIRST_MARKER
        return {
            "error": (scores.argmax(1) != answers).sum(),
            "nll": F.cross_entropy(scores, answers, reduction="sum"),
            "on_answer": (attention * on_answer).sum(),
        }


def blind(readings: Readings) -> Readings:
    """The same questions with one unknown word in place of each passage."""
    train, valid = (
        (torch.full((len(lengths), 1), UNKNOWN), torch.ones_like(lengths), *rest)
        for _, lengths, *rest in (readings.train, readings.valid)
    )
    return replace(readings, train=train, valid=valid)


EXPERIMENT = Experiment(
    "attentive_reader",
    _jobs,
    lambda job, scale, machine: Reading(readings_of(job, scale), machine, job),
    Settings(
        paper="A unidirectional reader on the CNN corpus, four sentences of each passage, entities "
        "renumbered in each case at training and evaluation; layer norm in the LSTMs only, batch norm "
        "in the LSTMs or everywhere; gains of 1.0 and 0.1; validation set only.",
        sources="Cooijmans and others (2016) and the published commands: the four sentences most relevant "
        "to the question; 240 units and entries of word vectors, Adam at 8e-5, batches of 64, gradients "
        "clipped at 10, a validation every 1,000 updates; a similarity inside the attention, trained first "
        "states, the mean of the passage's states in the answer. Their code: initial weights, biases, "
        "dropout at 0.5 of word vectors and before the scores. The log of the paper's run with layer norm "
        "was published, too, at an address that we have not been able to try.",
        ours="100 markers for entities; several runs of each network.",
        differs="Which four sentences | Found by matching strings. The program is not published. The files "
        "that it made were (top4.zip), at an address that we have not been able to try. | Those that share "
        "most words with the question, each word weighted by its inverse document frequency in the "
        "questions of training.\n"
        "Words | 65,829. | 50,000.\n"
        "Batches | Drawn at random with replacement, says the article; the code reads the files in order. | "
        "Each question once a pass, with others of similar lengths.\n"
        "Entities | Renumbered batch by batch, in training only. | Renumbered question by question, in "
        "validation, too.\n"
        "Scores | Of all words. | Of the markers.\n"
        "Validation with batch norm | By the statistics of each batch. | By running averages.\n"
        "Padding with batch norm | Zeros (a later revision repeats the sequence). Behind its last word a "
        "sequence keeps its state. All of this counts in the statistics. | Zeros. The LSTMs read on, and "
        "this counts in their statistics, but not in those of the attention.\n"
        "Clipping | A norm n of the gradient above 100 becomes 10 times the root of n. | A norm above 10 "
        "becomes 10.\n"
        "Layer norm | A bias inside the norm of the input's side. | Equations (20) to (22): none.\n"
        "Initial weights | All matrices are drawn from one seed, so that those of one shape start alike; "
        "W_ym as the LSTMs' are. | Each is drawn by itself; W_ym as the other matrices outside the LSTMs.",
        study="Cloze questions from 43 novels with the sentences before, 64 units, 1,000 words, 10 markers, "
        "the printed equations without what the code adds, step size 0.002 and, for three of the variants, "
        "five others, 300 updates; also weights that start at size 1.",
    ),
    data=lambda job, scale: [job["data"]],
)

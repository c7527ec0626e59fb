r"""Skip-thought vectors with layer norm and without, judged by what can be read from them.

*Source* Section 6.3, Figure 3, Table 3, and Eqs. (23)-(28); Kiros and others (2015). Where each setting
comes from stands at the end, in `EXPERIMENT.settings`. Scale "study" is what a CPU can do; "book" has fewer
units, words and updates, and judges by a part of the sentences; "smoke" reads Python's own help and is
judged by sentences from templates.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from lnbook.pages.sec6_3_skip_thoughts import model as networks
from lnbook.pages.sec6_3_skip_thoughts.corpus import SETS, TEMPLATES, Corpus, corpus, tasks
from lnbook.pages.sec6_3_skip_thoughts.model import DECODERS, SkipThoughts
from lnbook.pages.sec6_3_skip_thoughts.sentence_tasks import accuracy, relatedness
from lnbook.shared.studies import jobs_of
from lnbook.training import Cases, Experiment, Job, LengthBatches, Machine, Settings, Task, generators


@dataclass(frozen=True)
class Study:
    """Runs that differ in norm and seed; the fields are columns of the rows."""

    books: int  # how many novels are read; 0 for all
    words: int
    vectors: int
    longest: int  # of a sentence, in words
    size: int  # of a word's vector in the model; `vectors` are those that widen its words
    units: int
    batch_size: int  # sentences of an update, each with its two neighbors
    rate: float  # Adam's step size
    updates: int
    rows: int  # of a run after its first
    quick: int  # cases of each set that judge, and triples of the validation books; 0: all
    choices: int = 1  # strengths of the penalty to choose from
    initial: str = "scaled"
    decoder: str = "code"
    judged: int = 1  # 0 for runs that are measured on the books alone
    seeds: int = 3  # runs of each norm


_PAPER = Study(0, 20_000, 300, 30, 620, 2400, 128, 2e-4, 1_000_000, rows=20, quick=0, choices=4)
_LAPTOP = Study(0, 3000, 100, 25, 96, 192, 32, 2e-3, updates=800, rows=5, quick=1500, seeds=5)
STUDIES = {
    "smoke": [Study(0, 500, 24, 30, 16, 24, 16, 4e-3, updates=45, rows=2, quick=60, seeds=1)],
    "book": [Study(8, 1000, 50, 20, 40, 80, 8, 2e-3, updates=120, rows=3, quick=120, seeds=1)],
    "study": [
        *(replace(_LAPTOP, rate=rate, judged=0) for rate in (1e-3, 4e-3, 8e-3, 16e-3)),
        *(replace(_LAPTOP, decoder=decoder) for decoder in DECODERS),
    ],
    "paper": [replace(_PAPER, decoder=decoder) for decoder in DECODERS],
}


def corpus_of(job: Job, scale: str) -> Corpus:
    """The books that a job reads, and the word vectors that its judging uses."""
    sizes = (job[key] for key in ("books", "words", "vectors", "longest"))
    with threadpool_limits(1):
        return corpus("python_topics" if scale == "smoke" else "gutenberg", *sizes)


class Skipping(Task):
    """One run on books, judged by sets of sentences; without those it is measured on the books alone."""

    clip = 10.0
    evaluation_batch = 100

    def __init__(self, job: Job, scale: str, machine: Machine) -> None:
        self.text = text = corpus_of(job, scale)
        self.seed, self.choices = int(job["seed"]), job["choices"]
        weights, order, of_random = generators(self.seed, 3)
        settings = {key: job[key] for key in ("norm", "initial", "decoder")}
        sizes = (len(text.vocabulary), job["size"], job["units"])
        model = SkipThoughts(*sizes, generator=weights, **settings)
        self.model = model.to(machine.device, machine.dtype)
        self.baselines = {  # the run's own encoder before it learns; two of no encoder
            "untrained": networks.thoughts(copy.deepcopy(model), text.vectors),
            "random": networks.random_states(text.vectors, job["units"], of_random),
            "bag": networks.bag_of_words(text.vectors),
        }
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=job["rate"], fused=True)
        lengths, size = text.train[3], job["batch_size"]
        self.batches = LengthBatches(text.train, lengths, size, order, machine.group, cut=[0, 1, 2])
        self.updates, self.every = job["updates"], -(-job["updates"] // job["rows"])
        every = max(1, len(text.valid[0]) // job["quick"]) if job["quick"] else 1
        kinds = TEMPLATES if scale == "smoke" else SETS
        judges = tasks(text.wide, kinds, job["quick"], self.seed) if job["judged"] else {}
        self.parts = {"valid": tuple(x[::every] for x in text.valid), **judges}
        without = {f"{kind}_{name}": judges[name] for kind, name in product(self.baselines, judges)}
        self.last_parts = self.parts | without

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        return model(*cases).sum(1).mean()

    def measure(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Mapping[str, Tensor]:
        return {"nats": model(*cases).sum(), "words": cases[3][:, ::2].sum()}

    def summary(self, means: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return {"nats_per_word": means["nats"] / means["words"]}

    def evaluate(self, model: nn.Module, part: str, cases: Cases) -> Mapping[str, float] | None:
        if part == "valid":
            return None
        trained = networks.thoughts(cast(SkipThoughts, model), self.text.vectors)
        encode = self.baselines.get(part.partition("_")[0], trained)
        with threadpool_limits(1):  # runs share the cores; more threads than cores wait for one another
            vectors = _vectors(encode, *cases[:2])
            if not part.endswith("sick"):
                labels = cases[2].numpy()
                return {"accuracy": accuracy(vectors, labels, choices=self.choices, seed=self.seed)}
            others = _vectors(encode, *cases[2:4])
            features = np.concatenate([np.abs(vectors - others), vectors * others], axis=1)
            return relatedness(features, cases[4].numpy(), cases[5].numpy(), choices=self.choices)


@torch.no_grad()
def _vectors(encode: networks.Encoder, ids: Tensor, lengths: Tensor) -> np.ndarray:
    parts = [encode(a, n) for a, n in zip(ids.split(500), lengths.split(500), strict=True)]
    return torch.cat(parts).double().cpu().numpy()


EXPERIMENT = Experiment(
    "skip_thoughts",
    lambda scale, seed: jobs_of(STUDIES[scale], seed),
    Skipping,
    Settings(
        paper="An encoder of 2,400 units, a million updates, an evaluation every 50,000 on SICK, MR, CR, "
        "SUBJ, MPQA; BookCorpus.",
        sources="Kiros and others (2015): words of 620, a vocabulary of 20,000, which a linear map from "
        "word2vec widens when sentences are judged, batches of 128, Adam, the gradient clipped at 10 (their "
        "code's defaults are 64 and 5); their code: sentences of fewer than 30 words, step size 0.0002. The "
        "paper's model after 1.7 million updates was published, at an address that we have not been able to "
        "try.",
        ours="Several runs of each network.",
        differs="Adam's first steps | In effect, the code does not correct for averages that start at 0. "
        "So its steps are longer than Adam's: 3.5 times at update 1, 6.5 times at 10, 3.2 times at 100, 1.3 "
        "times at 1,000, 1.0 times at 10,000. | Adam as published.\n"
        "Clipping | The gradient of the sum over a batch. | That of the mean, for which the same limit is "
        "128 times as wide.\n"
        "Batches | Middle sentences of one length, one length after the other. | Triples of similar lengths "
        "in all, in random order.\n"
        "Layer norm | A bias inside the norm of the input's side; an update gate of 1 keeps the old state. | "
        "Equations (26) to (28): no such bias; an update gate of 1 takes the new state.\n"
        "Decoder | The code's sees a thought once. | The same, and besides, the article's, which sees it at "
        "every step.\n"
        "End of a judged sentence | The encoder reads an end token in SICK alone. | In all sets.\n"
        "Reading the classes | Vectors of length 1; C is a power of 2 from 1 to 256. | Standardized "
        "vectors; C is 0.001, 0.01, 0.1 or 1; each fold has its share of both classes.\n"
        "Reading SICK | Softmax by Adam, stopped at the best correlation on the trial pairs. | Logistic "
        "regression with a penalty, of which the trial pairs choose one of four.\n"
        "Books | BookCorpus, 74 million sentences, no longer distributed. | 43 novels of Project Gutenberg "
        "(0.33 million); the last three validate.\n"
        "MPQA | One of the five tasks; it may not be redistributed. | Pros and cons.\n"
        "Vectors that widen the vocabulary | word2vec's. | Made of the books that are read.\n"
        "The month of training | Table 3's last row, 1.7 million updates. | Not run.",
        study="192 units, first weights as much wider as there are fewer inputs, 3,000 words, batches of 32, "
        "step size 0.002 and, on the books alone, four others, 800 updates; 1,500 sentences of each set, one "
        "penalty.",
    ),
    data=lambda job, scale: (
        ["python_topics"] if scale == "smoke" else ["gutenberg", *(SETS if job["judged"] else ())]
    ),
)

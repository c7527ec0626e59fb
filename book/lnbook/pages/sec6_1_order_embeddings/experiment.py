r"""Captions and pictures in one space, with layer norm on the GRU that reads the captions and without.

*Source* Section 6.1, Figure 1, Table 2; Eqs. (23)-(28); Vendrov and others (2016); each setting's at the end.
Scale "paper" takes VGG features, "study" COCO's captions with vectors made of boxes; "book" is smaller, and
"smoke" reads generated scenes. Where several processes share a batch, each contrasts its own pairs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnbook.data.captions import Captioned, Captions, above, load_captions, load_features
from lnbook.data.text import Vocabulary, pad, tokenize
from lnbook.pages.sec6_1_order_embeddings import model as networks
from lnbook.pages.sec6_1_order_embeddings.model import TOP, OrderEmbedding, violations
from lnbook.shared.studies import NORMS, jobs_of
from lnbook.training import Cases, Experiment, Job, LengthBatches, Machine, Settings, Task, generators

CAPTIONS = 5  # of each picture, in the evaluation
SPLIT = 1000  # pictures of a test set


@dataclass(frozen=True)
class Study:
    """Runs that differ in norm and seed; the fields are columns of the rows."""

    data: str  # "scenes", "coco_captions", or "coco_vgg" (`load_features`)
    units: int
    word_size: int
    vocabulary: int  # the most frequent words that have a vector of their own
    batch_size: int  # pairs of an update
    updates: int
    every: int  # updates from one validation to the next
    score: str = "order"  # "order", or "cosine" for the symmetric baseline
    norms: tuple[str, ...] = NORMS
    rate: float = 1e-3  # Adam's step size
    seeds: int = 3  # runs of each norm


EPOCH = 5 * 113_287 // 128
_STUDY = Study("coco_captions", 256, 300, 3000, batch_size=128, updates=1000, every=50, seeds=8)
_PAPER = Study("coco_vgg", 1024, 300, 100_000, batch_size=128, updates=100 * EPOCH, every=300)
_SYMMETRIC: Mapping[str, Any] = {"score": "cosine", "norms": ("none",)}  # Table 2's other baseline
STUDIES = {
    "smoke": [Study("scenes", 32, 16, 100, batch_size=32, updates=40, every=20, seeds=1)],
    "book": [Study("coco_captions", 64, 50, 2000, 64, updates=100, every=50, rate=4e-3, seeds=1)],
    "study": [
        *(replace(_STUDY, rate=rate, seeds=5) for rate in (2e-3, 4e-3, 8e-3, 16e-3)),
        _STUDY,
        replace(_STUDY, **_SYMMETRIC),
    ],
    "paper": [_PAPER, replace(_PAPER, **_SYMMETRIC)],
}


@lru_cache(maxsize=1)
def captions_of(data: str) -> Captions:
    """The captions of a study; without COCO's, or if asked for, the generated scenes."""
    return load_features() if data == "coco_vgg" else load_captions(data)


class Embedding(Task):
    """One run on one set of pictures and captions."""

    model: OrderEmbedding
    clip = 2.0
    select = "valid_missed"  # 100 less the mean of R@1, R@5, R@10 of image retrieval

    def __init__(self, job: Job, scale: str, machine: Machine) -> None:
        weights, order = generators(job["seed"])
        self.machine, self.updates, self.every = machine, job["updates"], job["every"]
        parts = captions_of(job["data"]).parts
        self.vocabulary = Vocabulary.build(map(tokenize, parts["train"].texts), job["vocabulary"])
        self.features = {name: torch.from_numpy(part.features) for name, part in parts.items()}
        settings = {key: job[key] for key in ("units", "word_size", "norm", "score")}
        sizes = len(self.vocabulary), self.features["train"].shape[1]
        model = OrderEmbedding(*sizes, **settings, generator=weights)
        self.model = model.to(machine.device, machine.dtype)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=job["rate"], fused=True)
        asked = {name: part if name == "train" else part.first(CAPTIONS) for name, part in parts.items()}
        cases = {name: (*self.encoded(p.texts), torch.from_numpy(p.owner)) for name, p in asked.items()}
        train = cases.pop("train")
        self.batches = LengthBatches(train, train[1], job["batch_size"], order, machine.group, cut=[0])
        self.parts, self.last_parts = {"valid": cases["valid"]}, cases

    def encoded(self, texts: Sequence[str]) -> tuple[Tensor, Tensor]:
        return pad([self.vocabulary.encode(tokenize(text)) for text in texts])

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        """The sum over the pairs of the batch, as the original code has it; clipping makes that matter."""
        words, lengths, owner = cases
        captions, images = model(words, lengths, self._features("train", owner))
        errors = self.model.errors(captions, images)
        return networks.ranking_loss(errors, networks.MARGINS[self.model.score], owner)

    def points(self, words: Tensor, lengths: Tensor, chunk: int = 500) -> Float[Tensor, "C H"]:
        """The points of many captions, in their order, computed with little padding."""
        order = lengths.argsort()
        found = [
            self.model.captions(words[some, : lengths[some].max()].to(self.machine.device), lengths[some])
            for some in order.split(chunk)
        ]
        return torch.cat(found)[order.argsort().to(self.machine.device)]

    def images(self, part: str) -> Float[Tensor, "I H"]:
        return self.model.images(self._features(part, torch.arange(len(self.features[part]))))

    def evaluate(self, model: nn.Module, part: str, cases: Cases) -> Mapping[str, float]:
        """Means over `SPLIT` pictures at a time, each ranked among these and by their captions alone."""
        words, lengths, owner = cases
        captions, images = self.points(words, lengths), self.images(part)
        owner, found = owner.to(images.device), []
        for start in range(0, len(images), SPLIT):
            mine = (owner >= start) & (owner < start + SPLIT)
            table = self.model.errors(captions[mine], images[start : start + SPLIT])
            found.append(networks.retrieval(table, owner[mine] - start))
        means = {name: sum(each[name] for each in found) / len(found) for name in found[0]}
        return means | {"missed": 100 - sum(means[f"image_r{k}"] for k in TOP) / len(TOP)}

    def _features(self, part: str, which: Tensor) -> Tensor:
        return self.features[part][which.cpu()].to(self.machine.device, self.machine.dtype)


@torch.no_grad()
def agreement(made: Embedding, part: Captioned) -> tuple[float, float]:
    """How well violations tell which of two captions of generated scenes is truly above the other.

    The area under the ROC curve over all pairs of two, 0.5 for a guess; and how often, where only one of the
    two is above the other, that direction violates less.
    """
    from sklearn.metrics import roc_auc_score  # its import takes seconds

    told = part.meaning[1][::7]
    points = made.points(*made.encoded(part.texts[::7]))
    table = violations(points, points).double().numpy()
    order = np.array([[above(u, v) for v in told] for u in told])
    two = ~np.eye(len(told), dtype=bool)
    return float(roc_auc_score(order[two], -table[two])), float((table < table.T)[order & ~order.T].mean())


EXPERIMENT = Experiment(
    "order_embedding",
    lambda scale, seed: jobs_of(STUDIES[scale], seed),
    Embedding,
    Settings(
        paper="A GRU reads the captions of Microsoft COCO, VGG features (10 crops) stand for the pictures; "
        "Adam; a validation every 300 updates; five test sets of 1,000 pictures with 5 captions each.",
        sources="Vendrov and others (2016) and their code: GRU and points of 1,024, words of 300, features "
        "of 4,096 of Karpathy's splits, margin 0.05 (0.2 for the cosine), all pairs of a batch of 128, step "
        "size 0.001, gradients clipped at 2, at most 100 passes; the model with the best image retrieval is "
        "kept. The paper's own model was published with its options, at an address that we have not been "
        "able to try.",
        ours="Several runs of each network; the paper shows one.",
        differs="Adam's first steps | In effect, the code does not correct for averages that start at 0. "
        "So its steps are longer than Adam's: 3.5 times at update 1, 6.5 times at 10, 3.2 times at 100, 1.3 "
        "times at 1,000, 1.0 times at 10,000. | Adam as published.\n"
        "A pass | Each picture once, with one of its captions: 885 updates; 88,500 at most. | Each caption "
        "once: 4,425 updates; 442,500 at most.\n"
        "Batches | Pictures at random. Two captions of one picture never meet. | Captions of similar "
        "lengths. Two captions of one picture may meet, and are then no contrast to each other.\n"
        "Clipping | The gradient of each parameter by itself. | The gradient of all parameters together.\n"
        "End of a caption | The GRU reads an end token after the last word. | It does not.\n"
        "Layer norm | A bias inside the norm of the input's side; an update gate of 1 keeps the old state. | "
        "Equations (26) to (28): no such bias; an update gate of 1 takes the new state.\n"
        "Validation | The first 1,000 pictures. | All 5,000, in five parts of 1,000.\n"
        "Words | All of the training and validation captions, split at blanks. | Those of the training "
        "captions, at most 100,000, split by lnbook's own rules.\n"
        "Features | Their file of VGG features. | The same, if a user has it.",
        study="Vectors of object boxes in place of VGG features, 3,452 pictures, 256 units, 1,000 updates; "
        "also four larger step sizes.",
    ),
    data=lambda job, scale: [job["data"]],
)

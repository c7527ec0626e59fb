"""A small Transformer learns to spell: the norm before or after, the learning rate warmed up or not.

A book is read as characters, nine tenths to learn from and the last tenth to measure on. All runs of a seed
begin with the same weights and see the same passages in the same order; Adam, as in Vaswani et al. (2017).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lnbook.data.books import load_books
from lnbook.shared.transformer import NORMS, Transformer
from lnbook.training import Row, fit, generators, sweep, torch_threads

BOOK = "The Time Machine"
Job = tuple[str, str, bool, float]  # placement, norm, warm-up, share of the learning rate


@dataclass(frozen=True)
class Scale:
    """How large the runs are: units, heads and blocks; passages of a length in a batch; updates; seeds."""

    seeds: int
    units: int
    heads: int
    depth: int
    length: int
    batch: int
    updates: int
    every: int
    warm_up: int
    rate: float
    processes: int | None
    measured: int = 64  # passages to measure on


SCALES = {
    "smoke": Scale(2, 16, 2, 3, 16, 8, 24, 8, 12, 3e-3, processes=1),
    "book": Scale(5, 48, 4, 8, 32, 12, 110, 22, 80, 3e-3, processes=None),
    "study": Scale(10, 48, 4, 8, 32, 12, 110, 22, 80, 3e-3, processes=None),
    "shown": Scale(1, 48, 4, 8, 32, 4, 110, 22, 80, 3e-3, processes=1, measured=16),  # of a page
}


@dataclass(frozen=True)
class Text:
    """Characters as numbers: the first nine tenths to learn from, the rest to measure on."""

    known: str  # the characters, in the order of their numbers
    train: Int64[np.ndarray, " train"]
    test: Int64[np.ndarray, " test"]


def read(scale: str) -> Text:
    """The novel, or, at smoke scale and where it is not available, the help that Python brings along."""
    books = load_books("silent", name="python_topics" if scale == "smoke" else "gutenberg")
    body = books.texts[books.titles.index(BOOK)] if BOOK in books.titles else "\n\n".join(books.texts)
    known = "".join(sorted(set(body)))
    number = {character: k for k, character in enumerate(known)}
    codes = np.array([number[character] for character in body])
    split = 9 * len(codes) // 10
    return Text(known, codes[:split], codes[split:])


def bits_of_counts(text: Text, order: int) -> float:
    r"""Bits per character of the test part by the counts of the training part: what counting alone reaches.

    $-\mathrm{mean}\,\log_2 \frac{n(c,\text{before})+1/K}{n(\text{before})+1}$ for K characters.

    Of order 0 counts how frequent a character is, of order 1 how frequent after the one before it.
    """
    K = len(text.known)
    before, after = ((codes[:-1] * order, codes[1:]) for codes in (text.train, text.test))
    counts = np.full((K, K), 1 / K)
    np.add.at(counts, (before[0], before[1]), 1)
    share = counts / counts.sum(1, keepdims=True)
    return float(-np.log2(share[after[0], after[1]]).mean())


def loss(logits: Float[Tensor, "N T K"], target: Int64[Tensor, "N T"]) -> Float[Tensor, ""]:
    """Nats a character."""
    return cross_entropy(logits.flatten(0, 1), target.flatten())


def run(
    train: Int64[np.ndarray, " train"],
    test: Int64[np.ndarray, " test"],
    *,
    placement: str,
    norm: str,
    warm: bool,
    share: float,
    seed: int,
    scale: str,
) -> list[Row]:
    """Train one Transformer on a `Text`'s characters: test `bits`, `_told_apart`, and `_varied` by block."""
    size = SCALES[scale]
    weights, order = generators(seed)
    model = _model(int(max(train.max(), test.max())) + 1, size, placement, norm, weights)
    optimizer = torch.optim.Adam(model.parameters(), lr=share * size.rate, betas=(0.9, 0.98), fused=True)
    if warm:
        ramp = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(1.0, (k + 1) / size.warm_up))
        optimizer.register_step_post_hook(lambda *_: ramp.step())
    same = torch.Generator().manual_seed(0)  # all runs are measured on the same passages
    x, y = next(passages(torch.from_numpy(test), size.length, size.measured, same))

    def evaluate(_: nn.Module) -> dict[str, float]:
        streams = model.streams(x)
        logits = model.out(model.last_norm(streams[-1]))
        varied = {f"varied_{k}": _varied(stream) for k, stream in enumerate(streams)}
        return {"bits": float(loss(logits, y)) / math.log(2), "told_apart": _told_apart(logits)} | varied

    seen = passages(torch.from_numpy(train), size.length, size.batch, order)
    rows = fit(model, seen, loss, optimizer, updates=size.updates, every=size.every, evaluate=evaluate)
    job = {"placement": placement, "norm": norm, "warm": warm, "share": share, "seed": seed}
    return [job | row for row in rows]


def runs(text: Text, jobs: Sequence[Job], seeds: Sequence[int], scale: str) -> dict[Job, list[list[Row]]]:
    """`run` for each job and seed."""
    names = ("placement", "norm", "warm", "share")
    asked = [dict(zip(names, job, strict=True)) | {"seed": s, "scale": scale} for job in jobs for s in seeds]
    found = sweep(run, asked, common=(text.train, text.test), processes=SCALES[scale].processes)
    done = iter(found)
    return {job: [next(done) for _ in seeds] for job in jobs}


def block_gradients(
    text: Text, placement: str, depth: int, seeds: Sequence[int], *, length: int = 32
) -> Float[np.ndarray, "seeds depth"]:
    r"""$\lVert\partial\mathcal L/\partial W_2^{(l)}\rVert_F$ of each block before training, for 16 passages.

    *Source* Xiong et al. (2020), Section 3.4, on a text of ours.
    """
    size = Scale(0, 48, 4, depth, length, 16, 0, 0, 0, 0.0, None)
    found = []
    with torch_threads(1):
        for seed in seeds:
            weights, order = generators(seed)
            model = _model(len(text.known), size, placement, "layer", weights)
            x, y = next(passages(torch.from_numpy(text.train), length, size.batch, order))
            matrices = [block.get_parameter("feed.2.weight") for block in model.blocks]
            gradients = torch.autograd.grad(loss(model(x), y), matrices)
            found.append([float(g.norm()) for g in gradients])
    return np.array(found)


def _model(known: int, size: Scale, placement: str, norm: str, generator: torch.Generator) -> Transformer:
    shape = (known, size.length, size.units, size.heads, size.depth)
    return Transformer(*shape, placement, NORMS[norm], generator=generator)


def passages(
    codes: Int64[Tensor, " characters"], length: int, count: int, generator: torch.Generator
) -> Iterator[tuple[Int64[Tensor, "N T"], Int64[Tensor, "N T"]]]:
    """Batches without end of passages from random places, and the same passages a character later."""
    offsets = torch.arange(length + 1)
    while True:
        starts = torch.randint(len(codes) - length, (count, 1), generator=generator)
        passages = codes[starts + offsets]
        yield passages[:, :-1], passages[:, 1:]


def _told_apart(logits: Float[Tensor, "N T K"]) -> float:
    """Bits that a prediction tells about its place: mean divergence of predictions from their average."""
    p = logits.softmax(-1).flatten(0, 1)
    return float((p * (p / p.mean(0)).log2()).sum(-1).mean())


def _varied(stream: Float[Tensor, "N T H"]) -> float:
    """The part of a stream's mean square that differs from place to place: 0 if it is the same everywhere."""
    places = stream.flatten(0, 1)
    return float((places - places.mean(0)).square().mean() / places.square().mean())

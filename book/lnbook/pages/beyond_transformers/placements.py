"""The chapter's measurements of where the norm stands: stacks before training, and the runs of a reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from lnbook.pages.beyond_transformers import residual_gradients as residual
from lnbook.shared import characters as transformer
from lnbook.shared.characters import Job, Text
from lnbook.training import Row

Curves = dict[str, Float[np.ndarray, "_ _"]]  # by placement: one row per seed, one column per depth or block

# Panels and lines of the learning curves. All but the first are at their best of the learning rates 0.0003,
# 0.001, 0.003 and 0.01, by the mean bits of seeds 100 to 102.
JOBS: dict[str, dict[str, Job]] = {
    "norm after": {
        "no warm-up": ("post", "layer", False, 1.0),
        "warm-up": ("post", "layer", True, 1.0),
        "no warm-up, a third of the rate": ("post", "layer", False, 1 / 3),
    },
    "norm before": {
        "no warm-up": ("pre", "layer", False, 1.0),
        "RMS norm, no warm-up": ("pre", "rms", False, 1.0),
    },
}
# Depths, units, and the depth at which all blocks are measured.
SIZES: dict[str, tuple[tuple[int, ...], int, int]] = {
    "smoke": ((1, 4, 16), 32, 6),
    "book": ((1, 2, 4, 8, 16), 64, 16),
    "study": ((1, 2, 4, 8, 16, 32, 64), 64, 16),
}


@dataclass(frozen=True)
class Stacks:
    """Networks of residual blocks before training, one row per seed."""

    depths: Sequence[int]
    width: int
    last: Curves  # gradients of the last block; fewer depths without a norm, where they explode
    block_depth: int  # of the networks whose blocks are all measured
    blocks: Curves  # their gradients, the first block first
    moved: Curves  # how far a random step moves the output


def stacks(scale: str, seeds: Sequence[int]) -> Stacks:
    """Measure them."""
    depths, width, L = SIZES[scale]
    last = {p: residual.gradient_by_depth(p, depths, width, seeds) for p in ("post", "pre", "summed")}
    last["none"] = residual.gradient_by_depth("none", depths[: 2 if scale == "smoke" else 4], width, seeds)
    both = ("post", "pre")
    blocks = {p: residual.gradient_by_block(p, L, width, seeds) for p in both}
    moved = {p: np.stack([residual.output_change(p, d, width, seeds) for d in depths], 1) for p in both}
    return Stacks(depths, width, last, L, blocks, moved)


@dataclass(frozen=True)
class Readers:
    """Transformers that read a text, before training, one row per seed."""

    depths: Sequence[int]
    every: dict[
        str, dict[int, Float[np.ndarray, "_ _"]]
    ]  # gradients by placement and depth, first block first
    block_depth: int  # of the networks whose blocks are drawn and judged
    alone: Float[np.ndarray, "_ _"]  # on passages of one character, norm after: nothing to average

    @property
    def last(self) -> Curves:
        """Gradients of the last block by placement."""
        return {p: np.stack([found[d][:, -1] for d in self.depths], 1) for p, found in self.every.items()}


def first_over_last(blocks: Float[np.ndarray, "seeds depth"]) -> Float[np.ndarray, " seeds"]:
    """The first block's gradient over the last's."""
    return blocks[:, 0] / blocks[:, -1]


def largest_over_smallest(blocks: Float[np.ndarray, "seeds depth"]) -> Float[np.ndarray, " seeds"]:
    """How far the blocks of a network lie apart."""
    return blocks.max(1) / blocks.min(1)


def reading(text: Text, depths: Sequence[int], block_depth: int, seeds: Sequence[int]) -> Readers:
    """Measure them; `block_depth` is one of the depths."""
    both = ("post", "pre")
    every = {p: {d: transformer.block_gradients(text, p, d, seeds) for d in depths} for p in both}
    alone = transformer.block_gradients(text, "post", block_depth, seeds, length=1)
    return Readers(depths, every, block_depth, alone)


def ends(trained: Mapping[Job, Sequence[Sequence[Row]]], key: str) -> dict[Job, Float[np.ndarray, " seeds"]]:
    """A column of the last rows of all runs, one number per seed."""
    return {job: np.array([run[-1][key] for run in runs]) for job, runs in trained.items()}

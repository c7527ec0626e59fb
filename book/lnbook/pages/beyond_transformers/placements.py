"""The chapter's measurements of where the norm stands: stacks before training, and the runs of a reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from lnbook.pages.beyond_transformers import residual_gradients as residual
from lnbook.shared.characters import Job
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


def stacks(scale: str, seeds: Sequence[int]) -> tuple[Curves, Curves, Curves]:
    """Before training: the last block's gradient by depth, every block's, how far a random step moves y.

    The first with fewer depths without a norm, where gradients explode.
    """
    depths, width, L = SIZES[scale]
    last = {p: residual.gradient_by_depth(p, depths, width, seeds) for p in ("post", "pre", "summed")}
    last["none"] = residual.gradient_by_depth("none", depths[: 2 if scale == "smoke" else 4], width, seeds)
    both = ("post", "pre")
    blocks = {p: residual.gradient_by_block(p, L, width, seeds) for p in both}
    moved = {p: np.stack([residual.output_change(p, d, width, seeds) for d in depths], 1) for p in both}
    return last, blocks, moved


def ends(trained: Mapping[Job, Sequence[Sequence[Row]]], key: str) -> dict[Job, Float[np.ndarray, " seeds"]]:
    """A column of the last rows of all runs, one number per seed."""
    return {job: np.array([run[-1][key] for run in runs]) for job, runs in trained.items()}

"""The chapter's measurements of where the norm stands: stacks before training, and the runs of a reader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from lnbook.pages.beyond_transformers import residual_gradients as residual
from lnbook.shared import characters as transformer
from lnbook.shared.characters import Text
from lnbook.training import Row

__all__ = ["JOBS", "Stacks", "ends", "reading", "stacks"]

Curves = dict[str, Float[np.ndarray, "_ _"]]  # by placement: one row per seed, one column per depth or block
Jobs = Mapping[tuple[str, str, bool], Sequence[Sequence[Row]]]

# Panels and lines of the learning curves, and the placement, norm and warm-up of each.
JOBS = {
    "norm after": {
        "no warm-up": ("post", "layer", False),
        "warm-up": ("post", "layer", True),
    },
    "norm before": {
        "no warm-up": ("pre", "layer", False),
        "warm-up": ("pre", "layer", True),
        "RMS norm, no warm-up": ("pre", "rms", False),
    },
}


@dataclass(frozen=True)
class Stacks:
    """Networks of residual blocks before training, one row per seed.

    Attributes:
        depths, width: of the networks.
        last: gradients of the last block by placement; fewer depths without a norm, where they explode.
        block_depth: of the networks whose blocks are all measured.
        blocks: their gradients by placement, the first block first.
        moved: how far a random step moves the output, by placement.
    """

    depths: Sequence[int]
    width: int
    last: Curves
    block_depth: int
    blocks: Curves
    moved: Curves

    def limits(self) -> dict[str, dict[str, list[float]]]:
        """What many units tend to: for `last`, `blocks` and `moved`, by placement."""
        L = self.block_depth
        return {
            "last": {
                p: [residual.wide_limit(p, d, d, self.width) for d in self.depths[: v.shape[1]]]
                for p, v in self.last.items()
            },
            "blocks": {
                p: [residual.wide_limit(p, L, k, self.width) for k in range(1, L + 1)] for p in self.blocks
            },
            "moved": {p: [residual.change_limit(p, d) for d in self.depths] for p in self.moved},
        }


def stacks(scale: str, seeds: Sequence[int]) -> Stacks:
    """Measure them.

    >>> found = stacks("smoke", (0, 1))
    >>> found.last["pre"].shape, len(found.limits()["moved"]["post"])
    ((2, 3), 3)
    """
    small = scale == "smoke"
    depths, width, L = ((1, 4, 16), 32, 6) if small else ((1, 2, 4, 8, 16, 32, 64), 64, 32)
    last = {p: residual.gradient_by_depth(p, depths, width, seeds) for p in ("post", "pre", "summed")}
    last["none"] = residual.gradient_by_depth("none", depths[: 2 if small else 4], width, seeds)
    both = ("post", "pre")
    blocks = {p: residual.gradient_by_block(p, L, width, seeds) for p in both}
    moved = {p: np.stack([residual.output_change(p, d, width, seeds) for d in depths], 1) for p in both}
    return Stacks(depths, width, last, L, blocks, moved)


def reading(text: Text, depths: Sequence[int], seeds: Sequence[int]) -> Curves:
    """Gradients of the last block of Transformers that read a text, before training, by placement.

    >>> found = reading(transformer.read("smoke"), (1, 2), (0, 1))
    >>> found["post"].shape
    (2, 2)
    """
    return {
        p: np.stack([transformer.block_gradients(text, p, d, seeds)[:, -1] for d in depths], 1)
        for p in ("post", "pre")
    }


def ends(trained: Jobs, key: str) -> dict[tuple[str, str, bool], Float[np.ndarray, " seeds"]]:
    """A column of the last rows of all runs, one number per seed.

    >>> ends({("pre", "layer", True): [[{"bits": 7.0}, {"bits": 2.0}]]}, "bits")
    {('pre', 'layer', True): array([2.])}
    """
    return {job: np.array([run[-1][key] for run in runs]) for job, runs in trained.items()}

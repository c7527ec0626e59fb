r"""Recurrent batch normalization: statistics over the sequences of a batch, separate for each step.

$\mathrm{BN}(a^t) = g\,(a^t - \mu^t)/\sqrt{(\sigma^t)^2 + \epsilon}$ of each unit: of both projections and an
LSTM's cell, with g = 0.1 at the start. The cell has a bias of its own; one shift after the two projections is
enough, and it is the gates' own bias, the sum of torch's `bias_ih` and `bias_hh`.

Training normalizes step t by the sequences that run at step t. Evaluation uses running statistics of step t,
kept for the first `max_steps` steps; the last also serve all later steps, and are their average. The reverse
direction counts its own steps: its first reads a sequence's last input. Every call counts from 0, whatever
state it starts from: a sequence in pieces is not the same as the whole.

*Source* Cooijmans, Ballas, Laurent, Courville, "Recurrent Batch Normalization" (2016).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lnlib.norms.batch import batch_moments, batch_norm, batch_norm_by

__all__ = ["StepStatistics", "buffers", "check_cases", "track"]


def buffers(
    gains: Mapping[str, int], suffixes: Sequence[str], max_steps: int, like: Tensor
) -> Iterator[tuple[str, Tensor]]:
    """Buffers beside each gain: running mean and variance of its units at each step; a count of batches."""
    dtype = torch.promote_types(like.dtype, torch.float32)
    for suffix in suffixes:
        for side, units in gains.items():
            for kind in ("mean", "var"):
                buffer = torch.empty(max_steps, units, dtype=dtype, device=like.device)
                yield f"running_{kind}_{side}{suffix}", buffer
    yield "num_batches_tracked", torch.zeros(max_steps, dtype=torch.long, device=like.device)


def check_cases(sizes: Sequence[int]) -> None:
    """Refuse to estimate a variance from one sequence."""
    if 1 in sizes:
        raise ValueError(
            f"norm='batch' trains on statistics of the sequences that run at a step, at least 2, and at step "
            f"{list(sizes).index(1)} (counted from 0) 1 of {sizes[0]} runs; "
            f"batch sequences of like lengths, or use evaluation mode"
        )


class StepStatistics:
    """The statistics of one layer and direction during one call.

    `running` holds, by the gain's name, mean and variance, (max_steps, units) each.
    """

    def __init__(self, running: Mapping[str, tuple[Tensor, Tensor]], training: bool) -> None:
        self.running, self.training = running, training
        self._seen: dict[tuple[str, int, int], tuple[Tensor, Tensor]] = {}  # a step run twice is counted once

    def normalize(
        self,
        side: str,
        t: int,
        a: Float[Tensor, "N G"],
        gain: Float[Tensor, " G"],
        bias: Float[Tensor, " G"] | None,
        eps: float,
        unbiased: bool = False,
        first: int = 0,
    ) -> Float[Tensor, "N G"]:
        """Normalize the units `first`, `first` + 1, ... at step t, counted from 0."""
        if self.training:
            self._seen[side, t, first] = batch_moments(a)
            return batch_norm(a, gain, bias, eps, unbiased)
        row, units = min(t, len(self.running[side][0]) - 1), slice(first, first + a.shape[1])
        mean, var = (running[row, units] for running in self.running[side])
        return batch_norm_by(a, mean, var, gain, bias, eps)

    def move(self, counts: Int[Tensor, " max_steps"], used: int, momentum: float) -> None:
        """Move the running statistics towards the batch's, which has the first `used` of their steps."""
        last = counts.count_nonzero() - 1
        for side, buffers in self.running.items():
            steps: dict[int, list[tuple[Tensor, Tensor]]] = {}  # a step's units, perhaps in parts
            for (of, t, _), moments in self._seen.items():
                if of == side:
                    steps.setdefault(t, []).append(moments)
            for which, running in enumerate(buffers):
                weight = (1 / counts[:used].to(running.dtype)).clamp(min=momentum)
                of_steps = [torch.cat([moments[which] for moments in parts]) for parts in steps.values()]
                batch = torch.stack(of_steps).to(running.dtype)
                batch = torch.cat([batch[: used - 1], batch[used - 1 :].mean(0, keepdim=True)])
                running[:used].lerp_(batch, weight.unsqueeze(1))
                later = torch.arange(used, len(running), device=running.device)
                running[used:] = running[later.minimum(last)]  # steps not seen yet copy the last that was


@torch.no_grad()
def track(
    counts: Int[Tensor, " max_steps"],
    layers: Iterable[StepStatistics],
    sizes: Sequence[int],
    momentum: float | None,
) -> None:
    """Count one more batch of each step, and move all running statistics towards it.

    The first batches of a step are averaged, so that nothing is left of the 0 and 1 at the start; from
    1 / momentum batches on the average forgets exponentially. With no momentum it never forgets.
    """
    if not sizes or not sizes[0]:
        return
    used = min(len(sizes), len(counts))
    counts[:used] += 1
    for statistics in layers:
        statistics.move(counts, used, momentum or 0.0)

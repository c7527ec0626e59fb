r"""What a batch's gradient is when processes share the batch, and what they send to find it.

Functions whose first argument is a `Group` run in every process of one (see `parallel`), or with
`ALONE` in this process. Arrays go in and come out, since tensors do not travel between processes.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC2701

import lnlib
from lnbook.pages.sec1_introduction.sync_batch_norm import SyncBatchNorm, standardize_together
from lnbook.shared.permutation_mnist import network
from lnbook.training import Group, generators

NORMS = ("none", "rms", "weight", "layer", "batch", "sync")


def classifier(units: Sequence[int], norm: str, seed: int = 0) -> nn.Module:
    """The network of Section 6.6 (`permutation_mnist.network`); "sync" is batch norm, synchronized."""
    model = network(units, "batch" if norm == "sync" else norm, generators(seed)[0]).double()  # type: ignore[arg-type]
    return SyncBatchNorm.convert(model) if norm == "sync" else model


def gradient(
    group: Group,
    norm: str,
    units: Sequence[int],
    x: Float[np.ndarray, "N D"],
    y: Int[np.ndarray, " N"],
    *,
    shares: Sequence[int] | None = None,
    weighted: bool = True,
) -> Float[np.ndarray, " P"]:
    """The gradient of a `classifier`'s loss on N cases, computed by all K processes together.

    Process k has `shares[k]` of the cases; all the same, by default. Its loss is K / N times the sum over its
    own cases, so that the average over the processes is the mean over all cases, for any shares; or, not
    `weighted`, the mean over its own cases.
    """
    shares = shares or [len(x) // group.world] * group.world
    first, last = list(pairwise(accumulate(shares, initial=0)))[group.rank]
    model = classifier(units, norm)
    together = group.wrap(model)  # which must live until the gradients are averaged
    inputs, targets = torch.from_numpy(x[first:last]), torch.from_numpy(y[first:last])
    count = sum(shares) / group.world if weighted else last - first
    (cross_entropy(together(inputs), targets, reduction="sum") / count).backward()
    return flat(model)


def flat(model: nn.Module) -> Float[np.ndarray, " P"]:
    """All gradients of a model in one vector."""
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).numpy()


def in_parts(
    model: nn.Module, x: Float[Tensor, "N D"], y: Int[Tensor, " N"], parts: int
) -> Float[np.ndarray, " P"]:
    """The gradient of the mean loss on N cases, computed in one process, a micro-batch at a time."""
    model.zero_grad()
    for inputs, targets in zip(x.chunk(parts), y.chunk(parts), strict=True):
        (cross_entropy(model(inputs), targets, reduction="sum") / len(x)).backward()
    return flat(model)


def apart(one: Float[np.ndarray, " P"], two: Float[np.ndarray, " P"]) -> tuple[float, float]:
    """The difference of two vectors, relative to the first, and the angle between them in degrees."""
    lengths = np.linalg.norm(one), np.linalg.norm(two)
    cosine = one @ two / max(lengths[0] * lengths[1], 1e-300)
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    return float(np.linalg.norm(one - two) / lengths[0]), float(angle)


def turned(
    model: nn.Module, x: Float[Tensor, "N D"], y: Int[Tensor, " N"], shares: Sequence[int]
) -> Float[np.ndarray, " shares"]:
    """The angles by which splitting N cases into shares of each size turns the update."""
    whole = in_parts(model, x, y, 1)
    return np.array([apart(whole, in_parts(model, x, y, len(x) // share))[1] for share in shares])


class Collectives(TorchDispatchMode):
    """Notes the bytes of every collective that is called inside the `with`."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes: list[int] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "c10d":
            # an all_gather has its input second; the others work in place on their first argument
            mine = args[1] if "allgather" in func._opname else args[0]
            self.bytes.append(sum(t.numel() * t.element_size() for t in mine))
        return func(*args, **(kwargs or {}))


def sent_in_a_step(
    group: Group, norm: str, units: Sequence[int], x: Float[np.ndarray, "N D"]
) -> tuple[list[int], list[int]]:
    """The bytes of each collective, forward and backward, of a step on N cases in each process."""
    model, inputs = group.wrap(classifier(units, norm)), torch.from_numpy(x)
    for _ in range(3):  # the first settles the buckets of gradients, the second announces them
        with Collectives() as forward:
            loss = model(inputs).square().mean()
        with Collectives() as backward:
            loss.backward()
    return forward.bytes, backward.bytes


def split_units(
    group: Group, norm: str, x: Float[np.ndarray, "N D"], weight: Float[np.ndarray, "H D"], sync: bool
) -> Float[np.ndarray, "N share"]:
    """A normalized layer whose *units* are split: each process has some rows of the weights."""
    rows = torch.from_numpy(weight).chunk(group.world)[group.rank]
    a: Tensor = torch.from_numpy(x) @ rows.mT
    if norm == "batch":
        return lnlib.batch_norm(a).numpy()
    return (standardize_together(a.mT).mT if sync else lnlib.layer_norm(a)).numpy()

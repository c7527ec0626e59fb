r"""Data parallel training, measured: what P processes with B cases each compute, and what it costs them.

Functions whose first argument is a `Group` run in every process of one (see `parallel`), or with
`ALONE` in this process. Arrays go in and come out, since tensors do not travel between processes.
"""

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from time import perf_counter
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC2701

import lnlib
from lnbook.pages.beyond_distributed.sync_batch_norm import SyncBatchNorm, standardize_together
from lnbook.shared.permutation_mnist import network
from lnbook.training import Group, generators, noise_of
from lnlib.linear import Linear

NORMS = ("none", "rms", "weight", "layer", "batch", "sync")
_NORMS = {"layer": lnlib.LayerNorm, "batch": lnlib.BatchNorm, "sync": SyncBatchNorm}


def classifier(
    units: Sequence[int], norm: str, seed: int = 0, dtype: torch.dtype = torch.float64
) -> nn.Module:
    """The network of Section 6.6 (`permutation_mnist.network`); "sync" is batch norm, synchronized."""
    model = network(units, "batch" if norm == "sync" else norm, generators(seed)[0]).to(dtype)  # type: ignore[arg-type]
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
    dtype: torch.dtype = torch.float64,
) -> Float[np.ndarray, " P"]:
    """The gradient of a `classifier`'s loss on N cases, computed by all processes together.

    Process k has `shares[k]` of the cases; all the same, by default. Its loss is P / N times the sum over its
    own cases, so that the average over the P processes is the mean over all cases, for any shares; or, not
    `weighted`, the mean over its own cases.
    """
    shares = shares or [len(x) // group.world] * group.world
    first, last = list(pairwise(accumulate(shares, initial=0)))[group.rank]
    model = classifier(units, norm, dtype=dtype)
    together = group.wrap(model)  # which must live until the gradients are averaged
    inputs, targets = torch.from_numpy(x[first:last]).to(dtype), torch.from_numpy(y[first:last])
    count = sum(shares) / group.world if weighted else last - first
    (F.cross_entropy(together(inputs), targets, reduction="sum") / count).backward()
    return flat(model)


def flat(model: nn.Module) -> Float[np.ndarray, " P"]:
    """All gradients of a model in one vector."""
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).numpy()


def stored_means(
    group: Group, norm: str, x: Float[np.ndarray, "U N D"], weight: Float[np.ndarray, "H D"]
) -> tuple[Float[np.ndarray, " H"], Float[np.ndarray, " H"]]:
    """Running means after U batches that the processes share: the saved, and this process's own."""
    H, D = weight.shape
    layer = nn.Linear(D, H, bias=False, device="meta")
    layer.weight = nn.Parameter(torch.from_numpy(weight))
    together, alone = (_NORMS[n](H, dtype=torch.float64) for n in (norm, "batch"))
    model = group.wrap(nn.Sequential(layer, together))
    for batch in torch.from_numpy(x):
        mine = batch.chunk(group.world)[group.rank]
        model(mine).sum().backward()
        alone(layer(mine))
    for buffer in model.buffers() if group.world > 1 else ():
        dist.broadcast(buffer, 0)  # the first process saves its own
    saved, own = (m.state_dict()["running_mean"].numpy() for m in (together, alone))
    return saved, own


class Collectives(TorchDispatchMode):
    """Notes the name and the bytes of every collective that is called inside the `with`."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, int]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == "c10d":
            # an all_gather has its input second; the others work in place on their first argument
            mine = args[1] if "allgather" in func._opname else args[0]
            self.calls.append((func._opname.strip("_"), sum(t.numel() * t.element_size() for t in mine)))
        return func(*args, **(kwargs or {}))


def tower(layers: int, norm: str, units: int) -> nn.Sequential:
    """Square layers, each normalized and rectified; random weights, the same for every norm."""
    generator, made = torch.Generator().manual_seed(0), list[nn.Module]()
    for _ in range(layers):
        layer = Linear(units, units, bias=False, device="meta").to_empty(device="cpu")
        nn.init.kaiming_normal_(layer.weight, generator=generator)
        made += [layer, _NORMS[norm](units), nn.ReLU()]
    return nn.Sequential(*made)


def collectives_of_a_step(
    group: Group, norm: str, layers: int, units: int, cases: int
) -> tuple[list[tuple[str, int]], list[tuple[str, int]]]:
    """What a data parallel step calls, forward and backward, once it has warmed up."""
    model = group.wrap(tower(layers, norm, units))
    x = torch.randn(cases, units, generator=noise_of(0, 0, group.rank))
    for _ in range(3):  # the first settles the buckets of gradients, the second announces them
        with Collectives() as forward:
            loss = model(x).square().mean()
        with Collectives() as backward:
            loss.backward()
    return forward.calls, backward.calls


def step_seconds(
    group: Group, norms: Sequence[str], depths: Sequence[int], units: int, cases: int, rounds: int
) -> Float[np.ndarray, "depths norms rounds"]:
    """Time of a step: forward, backward, gradients averaged."""
    models = [group.wrap(tower(depth, norm, units)) for depth in depths for norm in norms]
    x = torch.randn(cases, units, generator=noise_of(0, 0, group.rank))
    found = _seconds(group, lambda model: model(x).square().mean().backward(), models, rounds)
    return found.reshape(len(depths), len(norms), rounds)


def all_reduce_seconds(
    group: Group, numbers: Sequence[int], rounds: int
) -> Float[np.ndarray, "sizes rounds"]:
    """Time of one all-reduce of so many float32 numbers."""
    return _seconds(group, dist.all_reduce, [torch.zeros(n) for n in numbers], rounds)


def _seconds(group: Group, act: Callable[[Any], object], on: Sequence[Any], rounds: int) -> np.ndarray:
    """Time of an act on each, all in turn in every round."""
    found = np.zeros((len(on), rounds))
    for r in range(-2, rounds):  # two to warm up
        for k, what in enumerate(on):
            group.wait()
            start = perf_counter()
            act(what)
            if r >= 0:
                found[k, r] = perf_counter() - start
    return found


def parted_units(
    group: Group, norm: str, x: Float[np.ndarray, "N D"], weight: Float[np.ndarray, "H D"], sync: bool
) -> Float[np.ndarray, "N share"]:
    """A normalized layer whose *units* are parted: each process has some rows of the weights."""
    rows = torch.from_numpy(weight).chunk(group.world)[group.rank]
    a: Tensor = torch.from_numpy(x) @ rows.mT
    if norm == "batch":
        return lnlib.batch_norm(a).numpy()
    return (standardize_together(a.mT).mT if sync else lnlib.layer_norm(a)).numpy()

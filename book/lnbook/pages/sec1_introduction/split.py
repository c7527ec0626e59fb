r"""What a batch's gradient is when processes share the batch, and what they send to find it.

Functions whose first argument is a `Group` run in every process of `Processes`, or with `ALONE` in this one.
Arrays go in and come out, since tensors do not travel between processes.
"""

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from itertools import accumulate, pairwise
from multiprocessing import get_context
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import cross_entropy
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: PLC2701

import lnlib
from lnbook.figures import axes as on
from lnbook.figures import plots
from lnbook.shared.permutation_mnist import network
from lnbook.training import Group, generators

Cases = Float[np.ndarray, "N D"]
Labels = Int[np.ndarray, " N"]
Inputs = Float[Tensor, "N D"]
Targets = Int[Tensor, " N"]
Sizes = Sequence[int]
Gradient = Float[np.ndarray, " P"]


class Processes:
    """`world` processes, one torch thread each, in one gloo group over the loopback interface."""

    def __init__(self, world: int) -> None:
        self._folder, spawn = TemporaryDirectory(prefix="lnlib-group-"), get_context("spawn")
        meeting, groups = f"file://{self._folder.name}/meet", [Group(rank, world) for rank in range(world)]
        self._each = {group: ProcessPoolExecutor(1, spawn, _join, (meeting, group)) for group in groups}

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> list[Any]:
        """`function(group, *arguments, **named)` in every process; the answers in the order of the ranks."""
        asked = [
            process.submit(function, group, *arguments, **named) for group, process in self._each.items()
        ]
        return [future.result() for future in asked]

    def close(self) -> None:
        """End the processes."""
        for process in self._each.values():
            process.shutdown()
        self._folder.cleanup()


def _join(meeting: str, group: Group) -> None:
    """What a process does first: join the group."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # gloo greets on stdout
    os.environ.setdefault("GLOO_SOCKET_IFNAME", next(n for _, n in socket.if_nameindex() if n[:2] == "lo"))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", meeting, timedelta(minutes=2), group.world, group.rank)


class SyncBatchNorm(lnlib.BatchNorm):
    """Eq. (2) in training, over the batches of all processes: `torch.nn.SyncBatchNorm` without a GPU."""

    def forward(self, a: Float[Tensor, "N H"]) -> Float[Tensor, "N H"]:
        return StandardizeTogether.apply(a) * self.weight + self.bias


class StandardizeTogether(torch.autograd.Function):
    r"""Standardize axis 1 over the cases of all processes, $(a_i - \mu_i)/\sqrt{\sigma_i^2+10^{-5}}$.

    Each sends number, mean and squared deviations of its cases, which combine as in Chan, Golub, LeVeque
    (1983), so that large means cost no accuracy. The gradient is that of the *sum* of all processes' losses.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        own = x.mean(0)
        mine = torch.cat([own.new_tensor([len(x)]), own, (x - own).square().sum(0)])
        parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, mine)
        counts, means, squares = torch.stack(parts).split([1, len(own), len(own)], 1)
        cases = counts.sum()
        mean = (counts * means).sum(0) / cases
        var = (squares + counts * (means - mean).square()).sum(0) / cases
        std = (var + 1e-5).sqrt()
        out = (x - mean) / std
        ctx.save_for_backward(out, std, cases)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d: Tensor) -> Tensor:
        out, std, cases = ctx.saved_tensors  # (d - mean(d) - out mean(out d)) / std, over all processes
        sums = torch.stack([d.sum(0), (d * out).sum(0)])
        dist.all_reduce(sums)
        plain, along = sums / cases
        return (d - plain - out * along) / std


def classifier(units: Sizes, norm: str, seed: int = 0) -> nn.Module:
    """The network of Section 6.6 (`permutation_mnist.network`); "sync" is batch norm, synchronized."""
    model = network(units, "batch" if norm == "sync" else norm, generators(seed)[0]).double()  # type: ignore[arg-type]
    if norm == "sync":
        for layer in model.modules():
            if isinstance(layer, lnlib.BatchNorm):
                layer.__class__ = SyncBatchNorm
    return model


def gradient(
    group: Group, norm: str, units: Sizes, x: Cases, y: Labels, shares: Sizes = (), weighted: bool = True
) -> Gradient:
    """The gradient of a `classifier`'s loss on N cases, of which process k has `shares[k]`, by default N / K.

    Its loss is K / N times the sum over its cases, so that the average over processes is the mean over cases
    for any shares; or, not `weighted`, the mean over its own.
    """
    shares = shares or [len(x) // group.world] * group.world
    first, last = list(pairwise(accumulate(shares, initial=0)))[group.rank]
    inputs, targets = torch.from_numpy(x[first:last]), torch.from_numpy(y[first:last])
    count = len(x) / group.world if weighted else last - first
    return in_parts(group.wrap(classifier(units, norm)), inputs, targets, 1, count)


def in_parts(model: nn.Module, x: Inputs, y: Targets, parts: int, count: float | None = None) -> Gradient:
    """The gradient of the loss on N cases, summed and over `count`, by default N; a micro-batch at a time."""
    model.zero_grad()
    for inputs, targets in zip(x.chunk(parts), y.chunk(parts), strict=True):
        (cross_entropy(model(inputs), targets, reduction="sum") / (count or len(x))).backward()
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None]).numpy()


def apart(one: Gradient, two: Gradient) -> tuple[float, float]:
    """The difference of two vectors, relative to the first, and the angle between them in degrees."""
    lengths = np.linalg.norm(one), np.linalg.norm(two)
    cosine = one @ two / max(lengths[0] * lengths[1], 1e-300)
    angle = np.degrees(np.arccos(np.clip(cosine, -1, 1)))
    return float(np.linalg.norm(one - two) / lengths[0]), float(angle)


def turned(model: nn.Module, x: Inputs, y: Targets, shares: Sizes) -> Float[np.ndarray, " shares"]:
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


def sent_in_a_step(group: Group, norm: str, units: Sizes, x: Cases) -> tuple[list[int], list[int]]:
    """The bytes of each collective, forward and backward, of a step on N cases in each process."""
    model, inputs = group.wrap(classifier(units, norm)), torch.from_numpy(x)
    for _ in range(3):  # the first settles the buckets of gradients, the second announces them
        with Collectives() as forward:
            loss = model(inputs).square().mean()
        with Collectives() as backward:
            loss.backward()
    return forward.bytes, backward.bytes


def split_units(
    group: Group, norm: str, x: Cases, weight: Float[np.ndarray, "H D"], sync: bool
) -> Float[np.ndarray, "N share"]:
    """A normalized layer whose *units* are split: each process has some rows of the weights."""
    rows = torch.from_numpy(weight).chunk(group.world)[group.rank]
    a: Tensor = torch.from_numpy(x) @ rows.mT
    if norm == "batch":
        return lnlib.batch_norm(a).numpy()
    return (StandardizeTogether.apply(a.mT).mT if sync else lnlib.layer_norm(a)).numpy()


def picture(sizes: Sizes, angles: Mapping[str, Float[np.ndarray, "sizes draws"]]) -> Figure:
    """Degrees between the updates of a whole batch and a split one, or other cases."""
    fig, ax = plots.subplots(figsize=(5.8, 3.3))
    looks = {"batch": ("batch", "--o"), "other cases": ("none", ":"), "layer": ("layer", "-s")}
    for name, values in angles.items():
        norm, look = looks[name]
        if norm != "none":
            ax.plot(sizes, values, look[-1], color=plots.COLORS[norm], ms=3, alpha=0.3, mew=0)
        label = name if norm == "none" else f"{name} norm, split"
        ax.plot(sizes, np.median(values, 1), look, color=plots.COLORS[norm], ms=5, label=label)
    ax.set_xscale("log", base=2)
    on.exactly(ax.xaxis, sizes)
    ax.set(xlabel="cases in a share", ylabel="angle between updates", ylim=(-4, 100), yticks=range(0, 91, 30))
    ax.yaxis.set_major_formatter("{x:.0f}°")
    ax.legend()
    return fig

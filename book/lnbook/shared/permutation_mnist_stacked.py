r"""Runs of `permutation_mnist` that differ in their seeds alone, made together on a GPU.

At batches of 4 an update is sixty small products and sums, and a GPU would only wait for Python. So the
weights of all seeds lie in one tensor, `seeds x outputs x inputs`, and many updates are one CUDA graph. Each
seed has the weights, the order of the data and the arithmetic of its run by `lnbook.training.train`.
"""

import math
import time
from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from lnbook.shared.classifiers import BatchNorm
from lnbook.shared.permutation_mnist import Classification
from lnbook.training import Job, Machine, Row, Run
from lnbook.training.loop import NonFiniteLoss, measured
from lnlib.linear import Linear
from lnlib.norms import modules

LONGEST = 25  # updates in one graph


def train_together(tasks: Sequence[Classification], jobs: Sequence[Job], machine: Machine) -> list[Run]:
    """The runs of these tasks, whose models are equal but for the values of their weights.

    Rows as `lnbook.training.train` makes them; their `seconds` are those of all runs together. There are no
    checkpoints. On a CPU, which has no graphs, the same updates one by one. A run whose loss became NaN or
    infinite has rows until then and says so in `failed`; the others go on.
    """
    began, runs = time.perf_counter(), [Run() for _ in tasks]
    stack, first = _Stack(tasks, machine), tasks[0]

    def record(seconds: float, losses: Tensor | None) -> None:
        for k, (task, job, run) in enumerate(zip(tasks, jobs, runs, strict=True)):
            if run.failed:
                continue
            run.losses.clear()
            try:
                run.take([] if losses is None else losses[:, k].tolist())
            except NonFiniteLoss as error:
                run.failed = str(error)
                continue
            stack.hand_back(k, task.model)
            train_loss = math.fsum(run.losses) / len(run.losses) if run.losses else None
            last = run.update == first.updates
            row: Row = {"update": run.update, "cases_seen": run.cases_seen, "seconds": seconds}
            row |= {"train_loss": train_loss, **measured(task, int(job["seed"]), machine, last=last)}
            run.add(row, task.select, task.model)

    record(0.0, None)
    seconds = 0.0
    while (left := first.updates - runs[0].update) > 0:
        since = time.perf_counter()
        losses = stack.train(min(first.every, left))
        seconds += time.perf_counter() - since
        for run in runs:
            run.update += len(losses)
            run.cases_seen += len(losses) * stack.batch_size
        record(seconds, losses)
    for task, job, run in zip(tasks, jobs, runs, strict=True):
        if run.best and not run.failed:
            task.model.load_state_dict(run.best["weights"])
            run.selected = run.best["row"] | measured(task, int(job["seed"]), machine, last=True)
        run.wall_seconds = time.perf_counter() - began
    return runs


class _Stack:
    """The weights of all runs, their batches, and what an update does to them."""

    def __init__(self, tasks: Sequence[Classification], machine: Machine) -> None:
        self.layers = list(tasks[0].model)
        self.batches = [task.batches for task in tasks]
        states = [task.model.state_dict() for task in tasks]
        self.state = {name: torch.stack([state[name] for state in states]) for name in states[0]}
        self.parameters = [self.state[name].requires_grad_() for name, _ in tasks[0].model.named_parameters()]
        self.graphs = machine.device.type == "cuda"
        rate = tasks[0].optimizer.defaults["lr"]
        self.adam = torch.optim.Adam(self.parameters, lr=rate, fused=True, capturable=self.graphs)
        pixels, labels = (x.to(machine.device) for x in self.batches[0].cases)
        self.pixels, self.labels, self.peak = pixels, labels, tasks[0].peak
        self.dtype, self.batch_size = machine.dtype, self.batches[0].batch_size
        self.order = self._epoch().to(machine.device)
        self.at, self.left = self.labels.new_zeros(1), len(self.order)
        self.losses = pixels.new_zeros(self.order.shape[:2], dtype=machine.dtype)
        self.graph: torch.cuda.CUDAGraph | None = None

    def _epoch(self) -> Int64[Tensor, "batches runs N"]:
        return torch.stack([batches.epoch() for batches in self.batches], dim=1)

    def hand_back(self, k: int, model: nn.Module) -> None:
        """Load the k-th weights into a model."""
        model.load_state_dict({name: values[k] for name, values in self.state.items()})

    def train(self, updates: int) -> Float[Tensor, "updates runs"]:
        """Make so many updates; their losses."""
        found = []
        while updates:
            if not self.left:
                self.order.copy_(self._epoch())
                self.at.zero_()
                self.left = len(self.order)
            count = min(updates, self.left)
            self._advance(count)
            start = len(self.order) - self.left
            found.append(self.losses[start : start + count].to("cpu", copy=True))
            self.left, updates = self.left - count, updates - count
        return torch.cat(found)

    def _advance(self, count: int) -> None:
        """Updates within an epoch, as many as possible by graph; those before the first graph prepare it."""
        if not self.graphs:
            for _ in range(count):
                self._update()
            return
        singly = count % LONGEST if self.graph or count < LONGEST else count % LONGEST + LONGEST
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(singly):
                self._update()
        torch.cuda.current_stream().wait_stream(side)
        if self.graph is None and count > singly:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                for _ in range(LONGEST):
                    self._update()
        for _ in range((count - singly) // LONGEST):
            assert self.graph is not None
            self.graph.replay()

    def _update(self) -> None:
        rows = self.order.index_select(0, self.at).flatten()
        x = self.pixels.index_select(0, rows).to(self.dtype).div_(self.peak)
        runs = self.order.shape[1]
        logits = _forward(self.layers, self.state, x.unflatten(0, (runs, -1))).flatten(0, 1)
        losses = F.cross_entropy(logits, self.labels.index_select(0, rows), reduction="none")
        loss = losses.unflatten(0, (runs, -1)).mean(1)
        gradients = torch.autograd.grad(loss.sum(), self.parameters)
        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = gradient.contiguous()  # fused Adam goes by memory, and sees no strides
        self.adam.step()
        self.losses.index_copy_(0, self.at, loss.detach()[None])
        self.at += 1


def _forward(
    layers: Sequence[nn.Module], state: Mapping[str, Tensor], x: Float[Tensor, "runs N D"]
) -> Float[Tensor, "runs N K"]:
    """`permutation_mnist.network` of all runs, in training mode."""
    for i, layer in enumerate(layers):
        own = {name.split(".")[1]: p for name, p in state.items() if name.startswith(f"{i}.")}
        if isinstance(layer, Linear):
            x = torch.bmm(own["weight"], x.mT).mT  # in this order its gradient is laid out as the weights are
            x = x + own["bias"][:, None] if "bias" in own else x
        elif isinstance(layer, modules.LayerNorm):
            x = F.layer_norm(x, x.shape[-1:], eps=layer.eps) * own["weight"][:, None] + own["bias"][:, None]
        elif isinstance(layer, BatchNorm):
            x = _batch_norm(layer, own, x)
        elif isinstance(layer, nn.ReLU):
            x = x.relu()
        else:
            raise TypeError(f"Networks with {type(layer).__name__} are not made together.")
    return x


def _batch_norm(
    layer: BatchNorm, own: Mapping[str, Tensor], x: Float[Tensor, "runs N H"]
) -> Float[Tensor, "runs N H"]:
    """Each unit of each run is a channel of torch's batch norm, which knows the biased variance alone.

    With c = N / (N - 1): g d / sqrt(c var + eps) = (g / sqrt(c)) d / sqrt(var + eps / c).
    """
    runs, cases, units = x.shape
    shrink = (cases - 1) / cases if layer.unbiased else 1.0
    assert layer.momentum is not None
    out = F.batch_norm(
        x.transpose(0, 1).reshape(cases, runs * units),
        own["running_mean"].view(-1),
        own["running_var"].view(-1),
        own["weight"].flatten() * math.sqrt(shrink),
        own["bias"].flatten(),
        training=True,
        momentum=layer.momentum,
        eps=layer.eps * shrink,
    )
    return out.unflatten(1, (runs, units)).transpose(0, 1)

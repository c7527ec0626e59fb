"""Tasks whose costs are known: what recurs, how much is kept, how long it is padded."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lnbook.training import Cases, Experiment, Job, LengthBatches, Machine, Minibatches, Task

Forward = Callable[[nn.ModuleDict, Tensor], Tensor]


class Loop(nn.Module):
    """A recurrence of its own over the weights of an LSTM that it never calls."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(units, units)

    def forward(self, x: Tensor) -> Tensor:
        h, weight = torch.zeros_like(x[0]), self.lstm.get_parameter("weight_hh_l0")
        for step in x:
            h = torch.tanh(step @ weight[: x.shape[2]].T + h)
        return h


class Made(Task):
    """A model of named modules, and how they are put together."""

    updates = every = 1
    clip = 1.0

    def __init__(self, modules: Mapping[str, nn.Module], forward: Forward, x: Tensor) -> None:
        generator = torch.Generator().manual_seed(0)
        self.parts = {}
        self.model = nn.ModuleDict(modules)
        with torch.no_grad():
            for parameter in self.model.parameters():
                parameter.normal_(std=0.1, generator=generator)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-6)
        self.batches = Minibatches((x,), len(x), generator)
        self.forward = forward

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Tensor:
        assert isinstance(model, nn.ModuleDict)
        return self.forward(model, cases[0]).square().mean()


class Keep(torch.autograd.Function):
    """Keeps an array for the backward pass, which makes another of its size: two arrays at the peak."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, numbers: int) -> Tensor:
        ctx.save_for_backward(torch.ones(numbers))
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *d: Tensor) -> tuple[Tensor, None]:
        (kept,) = ctx.saved_tensors
        scratch = kept + 1
        return d[0] * scratch[0], None


class Keeping(Made):
    """Keeps so many MB, and so many more on the way back; half of each sequence is padding.

    Its updates take as many milliseconds of the clock `now`.
    """

    elapsed = 0.0

    def __init__(self, norm: str, kept: int) -> None:
        def forward(m: nn.ModuleDict, x: Tensor) -> Tensor:
            Keeping.elapsed += kept / 1000
            return Keep.apply(m["scale"](x[:, :1]), kept * 2**20 // 4)

        super().__init__({"scale": nn.Linear(1, 1)}, forward, torch.ones(64, 1))
        lengths = torch.tensor([1, 2]).repeat(32)
        draw = torch.Generator().manual_seed(0)
        self.batches = LengthBatches((torch.ones(64, 2),), lengths, 64, draw, cut=[0])


def now() -> float:
    """Seconds of a clock that only `Keeping` moves."""
    return Keeping.elapsed


def _jobs(scale: str, seed: int) -> list[Job]:
    return [
        {"norm": norm, "kept": kept, "seed": seed + k}
        for k in range(2)
        for norm, kept in (("none", 8), ("layer", 64))
    ]


def _task(job: Job, scale: str, machine: Machine) -> Task:
    return Keeping(job["norm"], job["kept"])


EXPERIMENT = Experiment("keeping", _jobs, _task)


def lstm_and_product(units: int, wide: int, steps: int = 20, **extra: Any) -> Made:
    """An LSTM over 4 sequences, and a product of as many rows with a square matrix."""

    def forward(m: nn.ModuleDict, x: Tensor) -> Tensor:
        recurrent = m["lstm"](x.mT[:, :, None].expand(-1, -1, units))[0]
        return recurrent.mean() + m["square"](torch.ones(4, wide))

    modules = {"lstm": nn.LSTM(units, units), "square": nn.Linear(wide, wide)}
    return Made(modules, forward, torch.ones(4, steps))

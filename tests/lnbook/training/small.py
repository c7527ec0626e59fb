"""A small experiment that has everything: two norms, noise, clipping, selection, uneven parts, and faults.

Run as a program under `torchrun`, it is `python -m lnbook run` with this experiment.
"""

import itertools
import math
import os
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from lnbook.training import Cases, Experiment, Job, Machine, Minibatches, Row, Task, generators

UPDATES, EVERY = 40, 7  # the last row is no multiple


def mind_hangups() -> None:
    """In a child before its program begins: the tests may run under nohup, which is inherited."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


class Small(Task):
    """Two classes of points; `dropout` draws from the task's noise.

    The environment variable FAULT makes a loss NaN or an error, or presses Ctrl-C: as "nan 13", "raise 13" or
    "stop 13" at the 13th loss of a session, as "nan 13 1" only in the process of rank 1, as "nan 13 1 0" only
    in runs of seed 0.
    """

    updates, every, evaluation_batch, clip, select = UPDATES, EVERY, 5, 1.0, "valid_nll"

    def __init__(self, machine: Machine, *, norm: str, dropout: float, seed: int) -> None:
        weights, order = generators(seed)
        layers = [nn.utils.skip_init(nn.Linear, *shape) for shape in ((3, 8), (8, 2))]
        for parameter in itertools.chain(*(layer.parameters() for layer in layers)):
            nn.init.normal_(parameter, std=0.5, generator=weights)
        middle = nn.BatchNorm1d(8) if norm == "batch" else nn.LayerNorm(8)
        self.model = nn.Sequential(layers[0], middle, nn.Tanh(), layers[1])
        self.model.to(machine.device, machine.dtype)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.05)
        self.dropout, self.machine, self.seed = dropout, machine, seed
        draw = torch.Generator().manual_seed(7)
        x = torch.randn(60, 3, generator=draw, dtype=torch.float64).to(machine.dtype)
        cases = x, (x.prod(1) > 0).long()
        share = {"rank": machine.rank, "world": machine.world}
        self.batches = Minibatches(tuple(c[:44] for c in cases), 8, order, **share)
        # in chunks of 5: three, the last smaller; one, so that a second process has none
        self.parts = {"valid": tuple(c[44:57] for c in cases), "test": tuple(c[57:] for c in cases)}
        self.last_parts = self.parts | {"train": tuple(c[:44] for c in cases)}
        self.calls = 0

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        x, y = cases
        if self.dropout:
            kept = torch.rand(x.shape, generator=noise, dtype=torch.float64) >= self.dropout
            x = x * kept.to(x)
        value = F.cross_entropy(model(x), y)
        return value * self._fault()

    def _fault(self) -> float:
        self.calls += 1
        kind, update, *where = os.environ.get("FAULT", "none 0").split()
        here = [str(self.machine.rank), str(self.seed)]
        if self.calls != int(update) or where != here[: len(where)]:
            return 1.0
        if kind == "raise":
            raise RuntimeError("the fault that was asked for")
        if kind == "stop":
            signal.raise_signal(signal.SIGINT)
            return 1.0
        return math.nan

    def measure(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Mapping[str, Tensor]:
        logits = model(cases[0]).double()
        return {
            "nll": F.cross_entropy(logits, cases[1], reduction="sum"),
            "noisy": (logits * torch.rand(logits.shape, generator=noise)).sum(),
            "classes": F.one_hot(logits.argmax(1), 2).double().sum(0),
        }

    def summary(self, means: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return {"nll": means["nll"], "noisy": means["noisy"], "balance": means["classes"].min()}


def jobs(scale: str, seed: int) -> list[Job]:
    norms = [("layer", 0.0), ("batch", 0.0), ("batch", 0.3)]
    return [{"norm": norm, "dropout": dropout, "seed": seed + k} for k in range(2) for norm, dropout in norms]


def task(job: Job, scale: str, machine: Machine) -> Task:
    return Small(machine, **job)


def data(job: Job, scale: str) -> list[str]:
    """What the environment variable DATA names; nothing is read of it."""
    return os.environ.get("DATA", "").split()


EXPERIMENT = Experiment("small", "0.0", "two classes of points", jobs, task, data=data)
Command = Callable[..., int]  # `python -m lnbook run small`, of its options
JOB: Job = {"norm": "batch", "dropout": 0.3, "seed": 0}


def without_clock(rows: list[Row]) -> list[Row]:
    """What must not depend on when or how often a run was interrupted."""
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def main(argv: list[str]) -> int:
    """The command line, with this experiment alone."""
    from lnbook.__main__ import main as lnbook
    from lnbook.cli import run as command

    command.find = lambda name: EXPERIMENT  # type: ignore[assignment]
    return lnbook(["run", "small", *argv])


if __name__ == "__main__":
    torch.set_num_threads(1)
    found: Any = main(sys.argv[1:])
    sys.exit(found)

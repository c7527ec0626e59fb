"""A small experiment that has everything: two norms, noise, clipping, selection, uneven parts, and faults.

Run as a program under `torchrun`, it is `python -m lnbook run` with this experiment.
"""

import itertools
import os
import sys
from collections.abc import Mapping

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from lnbook.training import Cases, Experiment, Job, Machine, Minibatches, Row, Task, generators

UPDATES, EVERY = 40, 7  # the last row is no multiple


class Small(Task):
    """Two classes of points; `dropout` draws from the task's noise.

    The environment variable FAULT makes a loss NaN or infinite or presses Ctrl-C: as "nan 13", "inf 13" or
    "stop 13" at the 13th loss of a session.
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
        self.dropout = dropout
        draw = torch.Generator().manual_seed(7)
        x = torch.randn(60, 3, generator=draw, dtype=torch.float64).to(machine.dtype)
        cases = x, (x.prod(1) > 0).long()
        self.batches = Minibatches(tuple(c[:44] for c in cases), 8, order, machine.group)
        # in chunks of 5: three, the last smaller; one
        self.parts = {"valid": tuple(c[44:57] for c in cases), "test": tuple(c[57:] for c in cases)}
        self.last_parts = self.parts | {"train": tuple(c[:44] for c in cases)}
        self.calls = 0

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        x, y = cases
        if self.dropout:
            kept = torch.rand(x.shape, generator=noise, dtype=torch.float64) >= self.dropout
            x = x * kept.to(x)
        self.calls += 1
        kind, update = os.environ.get("FAULT", "none 0").split()
        faulty = self.calls == int(update)
        if faulty and kind == "stop":
            raise KeyboardInterrupt
        return F.cross_entropy(model(x), y) * (float(kind) if faulty else 1.0)

    def measure(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Mapping[str, Tensor]:
        logits = model(cases[0]).double()
        return {
            "nll": F.cross_entropy(logits, cases[1], reduction="sum"),
            "noisy": (logits * torch.rand(logits.shape, generator=noise)).sum(),
        }


def jobs(scale: str, seed: int) -> list[Job]:
    norms = [("layer", 0.0), ("batch", 0.0), ("batch", 0.3)]
    return [{"norm": norm, "dropout": dropout, "seed": seed + k} for k in range(2) for norm, dropout in norms]


def task(job: Job, scale: str, machine: Machine) -> Task:
    return Small(machine, **job)


def data(job: Job, scale: str) -> list[str]:
    """What the environment variable DATA names; nothing is read of it."""
    return os.environ.get("DATA", "").split()


EXPERIMENT = Experiment("small", jobs, task, data=data)
JOB: Job = {"norm": "batch", "dropout": 0.3, "seed": 0}


def without_clock(rows: list[Row]) -> list[Row]:
    """What must not depend on when or how often a run was interrupted."""
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


if __name__ == "__main__":
    from lnbook.__main__ import main
    from lnbook.cli import run as command

    command.find = lambda name: EXPERIMENT  # type: ignore[assignment]
    torch.set_num_threads(1)
    sys.exit(main(["run", "small", *sys.argv[1:]]))

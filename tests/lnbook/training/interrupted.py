"""A program that runs the small experiment, long, in processes; it is there to be stopped from outside.

It prints the processes' numbers, then trains; interrupted, it ends with status 130.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from small import EXPERIMENT, JOB, Small

from lnbook.training import Experiment, Job, Machine, RunFolder, Task, sweep, train
from lnbook.training.signals import stops_interrupt

UPDATES = 10**6


class Long(Small):
    updates, every = UPDATES, 10**5


def task(job: Job, scale: str, machine: Machine) -> Task:
    return Long(machine, **job)


LONG = Experiment("long", "0.0", EXPERIMENT.summary, EXPERIMENT.jobs, task)


def one(folder: Path, *, seed: int) -> Any:
    job = {**JOB, "seed": seed}
    with RunFolder(folder / str(seed), job) as mine:
        (folder / f"{seed}.pid").write_text(str(os.getpid()))
        return train(Long(Machine(), **job), folder=mine, every_seconds=1e9, progress=False)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with stops_interrupt():
            jobs = [{"seed": seed} for seed in range(4)]
            sweep(one, jobs, common=(Path(sys.argv[1]),), processes=int(sys.argv[2]))
    except KeyboardInterrupt:
        sys.exit(130)

"""A program that runs the small experiment, long, in processes; it is there to be stopped from outside."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from small import JOB, Small

from lnbook.training import Machine, RunFolder, sweep, train
from lnbook.training.signals import stops_interrupt

UPDATES = 10**6


class Long(Small):
    updates, every = UPDATES, 10**5

    def loss(self, *given: Any) -> Any:
        if self.calls == 0:
            (self.folder / "pid").write_text(str(os.getpid()))  # it is under way
        return super().loss(*given)


def one(folder: Path, *, seed: int) -> Any:
    job = {**JOB, "seed": seed}
    task = Long(Machine(), **job)
    task.folder = folder / str(seed)
    with RunFolder(task.folder, job) as mine:
        return train(task, folder=mine, every_seconds=1e9)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    stops_interrupt()
    try:
        sweep(one, [{"seed": k} for k in range(4)], common=(Path(sys.argv[1]),), processes=int(sys.argv[2]))
    except KeyboardInterrupt:
        sys.exit(130)

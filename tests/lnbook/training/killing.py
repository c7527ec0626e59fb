"""A program that runs the small experiment in a folder, and kills it at random instants until it is done.

It prints how many sessions were killed, and from how many different updates sessions went on.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import torch
from small import JOB, Small
from torch import Tensor

from lnbook.training import Machine, RunFolder, Task, train
from lnbook.training.signals import stops_interrupt


class Waits(Small):
    """After `ahead` updates it waits, inside an update, for a signal: however late that comes."""

    def __init__(self, ahead: int) -> None:
        super().__init__(Machine(), **JOB)
        self.last = ahead + 1
        self.came, arrives = os.pipe()
        os.set_blocking(arrives, False)
        signal.set_wakeup_fd(arrives)

    def loss(self, *args: Any) -> Tensor:
        loss = super().loss(*args)
        if self.calls == self.last:
            os.read(self.came, 1)
        return loss


def session(path: Path, task: Task) -> None:
    """What a process does that is started anew: a checkpoint after each update."""
    with RunFolder(path, JOB) as folder:
        run = train(task, folder=folder, every_seconds=0)
        folder.write_outcome({"rows": run.rows, "facts": {}, "failed": ""})


def newest(path: Path) -> int:
    """The update of the newest checkpoint."""
    state = RunFolder.peek(path)
    return state["update"] if state else 0


def main(path: Path, seed: int) -> None:
    torch.set_num_threads(1)
    session(
        path.with_name("warm"), Small(Machine(), **JOB)
    )  # what is imported late need not be so in each child
    draw = random.Random(seed)
    killed, before = 0, set()
    while not (path / "outcome.json").is_file():
        start, ahead = newest(path), draw.randint(0, 5)
        child = os.fork()
        if child == 0:
            stops_interrupt()
            try:
                session(path, Waits(ahead))
            except KeyboardInterrupt:
                os._exit(1)
            os._exit(0)
        # at a random instant of one of the next few updates, whatever the machine's pace
        before.add(start)
        goal = start + ahead
        while newest(path) < goal and not (path / "outcome.json").is_file():
            time.sleep(0.001)
        time.sleep(draw.uniform(0.0, 0.01))
        os.kill(child, draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM]))
        _, status = os.waitpid(child, 0)
        killed += os.waitstatus_to_exitcode(status) != 0
    print(killed, len(before))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

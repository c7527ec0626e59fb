"""The training engine: one loop for every experiment, from a laptop to many machines.

An experiment is a list of jobs and a way to make each a `Task` (`task`); the loop trains it (`loop`) with
seeded batches (`batches`), checkpoints that survive (`checkpoint`), in one process or many (`distributed`),
as one run or a sweep (`sweeps`); `runs` is the command line.
"""

from lnlib.training.batches import Minibatches, generators, noise_of
from lnlib.training.checkpoint import CheckpointError, DamagedCheckpoint, OutputError, RunFolder
from lnlib.training.distributed import ALONE, Group, join
from lnlib.training.loop import NonFiniteLoss, Run, fit, train
from lnlib.training.sweeps import cores, sweep, torch_threads
from lnlib.training.task import Cases, Experiment, Job, Machine, Row, Task

__all__ = [
    "ALONE",
    "Cases",
    "CheckpointError",
    "DamagedCheckpoint",
    "Experiment",
    "Group",
    "Job",
    "Machine",
    "Minibatches",
    "NonFiniteLoss",
    "OutputError",
    "Row",
    "Run",
    "RunFolder",
    "Task",
    "cores",
    "fit",
    "generators",
    "join",
    "noise_of",
    "sweep",
    "torch_threads",
    "train",
]

"""The training engine: one loop for every experiment, from a laptop to many machines.

From an experiment to its rows:

- `task`: what an experiment gives: jobs, and for each a `Task`: model, optimizer, batches, measures.
- `batches`: seeds, and mini-batches in a seeded order; nothing draws from a global random state;
  or of sequences that are about equally long.
- `loop`: trains a task: updates, measures, rows, checkpoints; `fit`: a model without an experiment.
- `checkpoint`: a run that was interrupted goes on, with the same data and code or not at all.
- `distributed`: the processes that `torchrun` starts train one model together.
- `runs`, `sweeps`: one run of an experiment, and many in local processes.

The command line, and what becomes of the rows, is in `lnbook.cli`.
"""

from lnbook.training.batches import LengthBatches, Minibatches, generators, noise_of
from lnbook.training.checkpoint import CheckpointError, RunFolder
from lnbook.training.distributed import ALONE, Group
from lnbook.training.loop import NonFiniteLoss, Run, fit, train
from lnbook.training.sweeps import sweep, torch_threads
from lnbook.training.task import Cases, Experiment, Job, Machine, Row, Settings, Task

__all__ = [
    "ALONE",
    "Cases",
    "CheckpointError",
    "Experiment",
    "Group",
    "Job",
    "LengthBatches",
    "Machine",
    "Minibatches",
    "NonFiniteLoss",
    "Row",
    "Run",
    "RunFolder",
    "Settings",
    "Task",
    "fit",
    "generators",
    "noise_of",
    "sweep",
    "torch_threads",
    "train",
]

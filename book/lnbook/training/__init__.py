"""The training engine: one loop for every experiment, from a laptop to many machines.

From an experiment to its rows:

- `task`: what an experiment gives: jobs, and for each a `Task`: model, optimizer, batches, measures.
- `batches`: seeds, and mini-batches in a seeded order; nothing draws from a global random state;
  `lengths`: batches of sequences that are about equally long.
- `loop`: trains a task: updates, rows, checkpoints; `fit` does so for a model without an experiment.
- `measure`, `record`: evaluates the parts of the data, and keeps the rows and the model that did best.
- `identity`, `sameness`: what a run is, so that it goes on with the same data and code or not at all.
- `checkpoint`, `format`, `files`, `signals`, `streams`, `errors`: a run that is killed, finds its disk full
  or its files damaged goes on from what is whole, or says what is wrong.
- `distributed`: the processes that `torchrun` starts train one model together.
- `runs`, `sweeps`: one run of an experiment, and many in local processes.
- `gather`, `report`: rows and provenance in two files, and a table. The command line is `lnbook.cli.run`.
"""

from lnbook.training.batches import Minibatches, generators, noise_of
from lnbook.training.checkpoint import RunFolder
from lnbook.training.distributed import ALONE, Group, join
from lnbook.training.errors import (
    CheckpointError,
    DamagedCheckpoint,
    NonFiniteLoss,
    OutputError,
    ProcessLost,
    RunBusy,
)
from lnbook.training.fit import fit
from lnbook.training.lengths import LengthBatches
from lnbook.training.loop import train
from lnbook.training.record import Run
from lnbook.training.sweeps import cores, sweep, torch_threads
from lnbook.training.task import Cases, Experiment, Job, Machine, Row, Settings, Task

__all__ = [
    "ALONE",
    "Cases",
    "CheckpointError",
    "DamagedCheckpoint",
    "Experiment",
    "Group",
    "Job",
    "LengthBatches",
    "Machine",
    "Minibatches",
    "NonFiniteLoss",
    "OutputError",
    "ProcessLost",
    "Row",
    "Run",
    "RunBusy",
    "RunFolder",
    "Settings",
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

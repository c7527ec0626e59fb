"""The training engine: one loop for every experiment, from a laptop to many machines.

An experiment (`task`) lists jobs and makes a task of each: model, optimizer, seeded batches (`batches`),
measures. `runs` and `sweeps` run them, `loop` trains each, and a run that was interrupted goes on
(`checkpoint`). The command line, and what becomes of the rows, is in `lnbook.cli`.
"""

from lnbook.training.batches import LengthBatches, Minibatches, generators, noise_of
from lnbook.training.checkpoint import CheckpointError, RunFolder
from lnbook.training.distributed import ALONE, Group
from lnbook.training.loop import NonFiniteLoss, Run, fit, step, train
from lnbook.training.sweeps import sweep, torch_threads
from lnbook.training.task import Cases, Experiment, Job, Machine, Row, Settings, Task

"""What an experiment gives to the engine: tasks, each one run of a model; and the list of runs to make."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnbook.training.distributed import ALONE, Group

Row = dict[str, Any]
Job = Mapping[str, Any]  # strings and numbers: what tells one run from another: method, batch_size, seed, ...
Cases = tuple[Tensor, ...]  # one tensor for each input and target; axis 0 counts the cases
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Machine:
    """Where and in which numbers a run computes."""

    device: torch.device = CPU  # never guessed by the engine
    dtype: torch.dtype = torch.float32  # of parameters and inputs; float64 to check, float32 to train
    group: Group = ALONE  # the processes that train together; for `Minibatches`


class Task(ABC):
    """One run: a model, its optimizer, its data and its measures. The engine owns everything else."""

    model: nn.Module  # on the machine's device, its initial weights drawn from a generator of the run's seed
    optimizer: torch.optim.Optimizer  # over the model's parameters
    # without end; `lnbook.training.Minibatches`, or anything with its `state_dict` and `load_state_dict`, so
    # that a resumed run sees the same cases
    batches: Iterator[Cases]
    updates: int  # how many steps the run takes
    every: int  # updates from one row to the next
    parts: Mapping[str, Cases]  # to measure at each row, by name: "valid", "test"
    last_parts: Mapping[str, Cases] | None = None  # the same for the last row and the selected model
    evaluation_batch: int = 1000  # how many cases are measured at a time
    clip: float | None = None  # largest 2-norm of the gradient of all parameters; None for no clipping
    select: str | None = None  # the column, say "valid_nll", whose smallest value marks the model to keep

    @abstractmethod
    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        """The mean loss of a batch's cases by `model`: `self.model`, or what wraps it for several processes.

        The noise is for whatever the model draws at random: new at each update, different in each process.
        """

    def drawn(self, cases: Cases, noise: torch.Generator) -> Cases:
        """A batch with all that its loss would draw, drawn; given it for the batch, `loss` draws nothing."""
        return cases

    def measure(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Mapping[str, Tensor]:
        """Measures of these cases, each summed over them: the engine divides by the number of all cases.

        Columns are named `<part>_<measure>`. The model is in evaluation mode, gradients are off, and the
        noise is the same at every row, so that curves do not jump because of it. A vector needs a `summary`.
        """
        return {}

    def summary(self, means: Mapping[str, Tensor]) -> Mapping[str, Tensor | float]:
        """Columns from the means over a part: what is a function of means but no mean itself."""
        return means

    def evaluate(self, model: nn.Module, part: str, cases: Cases) -> Mapping[str, Tensor | float] | None:
        """Measures of a whole part that are no mean over its cases (a rank); None: `measure` says it all."""
        return None

    def overall(self, model: nn.Module) -> Mapping[str, float]:
        """Measures that need no cases: a norm of the weights. Their columns have no prefix."""
        return {}


@dataclass(frozen=True)
class Settings:
    """Where an experiment's settings come from, in words: the book's page on settings shows them."""

    paper: str  # what the paper says, and scale "paper" does
    sources: str  # what the articles and the code say that the paper builds on
    ours: str  # what nobody says
    differs: str  # lines: what differs, what they have, what scale "paper" has
    study: str  # what scale "study" makes smaller


@dataclass(frozen=True)
class Experiment:
    """One of the paper's experiments, as `python -m lnbook run` finds it."""

    name: str  # of its results
    # of (scale, first seed): every run, the long ones first; a job's keys become columns
    jobs: Callable[[str, int], list[Job]]
    task: Callable[[Job, str, Machine], Task]  # of (job, scale, machine): one run; it loads the data
    settings: Settings | None = None
    # of (job, scale): the data sets that the run is meant to read, whether they are there or not; a run whose
    # data have changed does not go on
    data: Callable[[Job, str], Sequence[str]] = lambda job, scale: ()
    graphs: bool = False  # on a GPU runs are made side by side, each update a graph (module `graphs`)

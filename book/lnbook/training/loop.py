"""The training loop of every experiment."""

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.profiler import record_function

from lnbook.training.batches import noise_of
from lnbook.training.checkpoint import RunFolder
from lnbook.training.task import Cases, Machine, Row, Task

Step = Callable[[Task, nn.Module, Cases, torch.Generator], Tensor]  # makes an update and returns its loss


class NonFiniteLoss(ArithmeticError):
    """A loss became NaN or infinite; `rows` were recorded until then."""

    def __init__(self, message: str, rows: list[Row]) -> None:
        super().__init__(message, rows)
        self.rows = rows

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass
class Run:
    """Where a run stands, beside its model, its optimizer and its batches."""

    rows: list[Row] = field(default_factory=list)  # recorded so far
    best: dict[str, Any] | None = None  # row and weights of the model with the least value of `Task.select`
    selected: Row | None = None  # in the end, that row with the measures of `Task.last_parts`
    wall_seconds: float = 0.0  # with evaluation and earlier sessions, up to their last checkpoints
    seconds: float = 0.0  # of training only
    update: int = 0
    cases_seen: int = 0
    losses: list[float] = field(default_factory=list)  # of the updates since the newest row, all finite
    last_finite: float | None = None  # the newest finite loss of all
    failed: str = ""  # why it stopped early

    def add(self, row: Row, select: str | None, model: nn.Module) -> None:
        """Append a row; keep the weights if it is the best in the column `select`. NaN is worst."""
        self.rows.append(row)
        best = self.best["row"][select] if self.best else math.nan
        if select is not None and (row[select] < best or math.isnan(best)):
            weights = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}
            self.best = {"row": row, "weights": weights}

    def take(self, losses: Sequence[float]) -> None:
        """Keep the losses of the newest updates; raises NonFiniteLoss at the first that is not finite."""
        for update, value in enumerate(losses, self.update - len(losses) + 1):
            if not math.isfinite(value):
                raise NonFiniteLoss(
                    f"The loss became {value} at update {update}; the last finite loss was "
                    f"{self.last_finite}. Lower the learning rate, or look at the batch of that update.",
                    self.rows,
                )
            self.last_finite = value
            self.losses.append(value)


def step(task: Task, model: nn.Module, cases: Cases, noise: torch.Generator) -> Tensor:
    """One update; its loss, before the update."""
    loss = task.loss(model, cases, noise)
    task.optimizer.zero_grad()
    loss.backward()
    if task.clip is not None:
        with record_function("Optimizer.clip"):  # the name of that part of an update in a profile
            nn.utils.clip_grad_norm_(task.model.parameters(), task.clip)
    task.optimizer.step()
    return loss.detach()


def train(
    task: Task,
    *,
    seed: int = 0,
    machine: Machine = Machine(),  # noqa: B008 - it is frozen
    folder: RunFolder | None = None,
    every_seconds: float = 60.0,
    log: Callable[[Row], None] | None = None,
    step: Step = step,
) -> Run:
    """Train a task to its end, from its last checkpoint if its folder has one.

    Rows stand before the first update, every `task.every`, and after the last, with `update`, `cases_seen`,
    `seconds` (training only, evaluation not counted), `train_loss` (mean over the updates since the row
    before, each in training mode before its step; None at update 0) and the measures. Killed and resumed, a
    run gives the same rows but for `seconds`, bit for bit on the same machine.

    Args:
        task: its model is left in training mode.
        seed: of the model's own noise.
        folder: where checkpoints go; None for none, and in all processes but the first.
        every_seconds: from one checkpoint to the next; a group, whose clocks differ, writes one at each row.
        log: called with each new row, in the first process.
        step: makes an update, as the function `step` does, or `lnbook.training.graphs.Graph` on a GPU.

    A loss that is not finite raises `NonFiniteLoss` with its exact update, but only when a row or a
    checkpoint is due, so that no update has to wait for a GPU.
    """
    group = machine.group
    model = group.wrap(task.model)
    state = group.share(folder.load() if folder else None)
    if state is None:
        run = Run()
    else:
        task.model.load_state_dict(state.pop("model"))
        task.optimizer.load_state_dict(state.pop("optimizer"))
        task.batches.load_state_dict(state.pop("batches"))  # type: ignore[attr-defined]
        run = Run(**state)
    began, earlier = time.perf_counter(), run.wall_seconds

    def record(train_loss: float | None) -> None:
        row: Row = {"update": run.update, "cases_seen": run.cases_seen, "seconds": run.seconds}
        last = run.update == task.updates
        row |= {"train_loss": train_loss, **measured(task, seed, machine, last=last)}
        run.add(row, task.select, task.model)
        if log and group.rank == 0:
            log(row)

    if not run.rows:
        record(None)
    task.model.train()
    unread: list[Tensor] = []
    start = saved = time.perf_counter()
    while run.update < task.updates:
        cases = tuple(x.to(machine.device, non_blocking=True) for x in next(task.batches))
        unread.append(step(task, model, cases, noise_of(seed, run.update, group.rank)))
        run.update += 1
        run.cases_seen += len(cases[0]) * group.world
        last = run.update == task.updates
        due = last or run.update % task.every == 0
        # a clock differs from process to process: a group keeps to its rows
        late = due if group.world > 1 else last or time.perf_counter() - saved >= every_seconds
        if not due and not (folder and late):
            continue
        run.take(group.sum(torch.stack(unread)).div(group.world).tolist())
        unread.clear()
        run.seconds += time.perf_counter() - start
        if due:
            record(math.fsum(run.losses) / len(run.losses))
            run.losses.clear()
        if folder and late:
            run.wall_seconds = earlier + time.perf_counter() - began
            batches = task.batches.state_dict()  # type: ignore[attr-defined]
            models = {"model": task.model.state_dict(), "optimizer": task.optimizer.state_dict()}
            folder.save({**vars(run), **models, "batches": batches})
            saved = time.perf_counter()
        start = time.perf_counter()
    if run.best:
        newest = copy.deepcopy(task.model.state_dict())
        task.model.load_state_dict(run.best["weights"])
        run.selected = run.best["row"] | measured(task, seed, machine, last=True)
        task.model.load_state_dict(newest)
        if folder:
            folder.write("selected.pt", run.best["weights"])
    run.wall_seconds = earlier + time.perf_counter() - began
    return run


@torch.no_grad()
def measured(task: Task, seed: int, machine: Machine, *, last: bool) -> dict[str, float]:
    """Every measure of every part, as columns; the number of cases behind them is `<part>_cases`.

    The noise of a chunk of cases depends on the seed and the chunk alone: it is the same at each row.
    """
    task.model.eval()
    parts = task.last_parts if last and task.last_parts is not None else task.parts
    found = dict(task.overall(task.model))
    for part, cases in parts.items():
        whole = task.evaluate(task.model, part, cases)
        values = task.summary(_means(task, cases, seed, machine)) if whole is None else whole
        found |= {f"{part}_{name}": float(value) for name, value in values.items()}
        found[f"{part}_cases"] = len(cases[0])
    task.model.train()
    return found


def _means(task: Task, cases: Cases, seed: int, machine: Machine) -> dict[str, Tensor]:
    """Sums are gathered in float64."""
    sums: dict[str, Tensor] = {}
    for index, chunk in enumerate(zip(*(x.split(task.evaluation_batch) for x in cases), strict=True), 1):
        here = tuple(x.to(machine.device, non_blocking=True) for x in chunk)
        for name, value in task.measure(task.model, here, noise_of(seed, -1, index)).items():
            sums[name] = sums[name] + value.double() if name in sums else value.double()
    return {name: value / len(cases[0]) for name, value in sums.items()}


def fit(
    model: nn.Module,
    batches: Iterator[Cases],
    loss: Callable[[Tensor, Tensor], Float[Tensor, ""]],
    optimizer: torch.optim.Optimizer,
    *,
    updates: int,
    every: int,
    evaluate: Callable[[nn.Module], Mapping[str, float]] | None = None,
) -> list[Row]:
    """`train` without an experiment around it: of pairs (inputs, targets), a loss of (outputs, targets)."""

    class Fit(Task):
        def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
            return loss(model(cases[0]), cases[1])

        def overall(self, model: nn.Module) -> Mapping[str, float]:
            return evaluate(model) if evaluate else {}

    task = Fit()
    task.model, task.batches, task.optimizer = model, batches, optimizer
    task.updates, task.every, task.parts = updates, every, {}
    return train(task).rows

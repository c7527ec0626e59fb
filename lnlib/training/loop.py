"""The training loop of every experiment."""

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from tqdm import tqdm

from lnlib.training.batches import noise_of
from lnlib.training.checkpoint import RunFolder
from lnlib.training.distributed import ALONE, Group
from lnlib.training.measure import measures
from lnlib.training.sweeps import wanted
from lnlib.training.task import Cases, Job, Machine, Row, Task

__all__ = ["NonFiniteLoss", "Run", "fit", "train"]


class NonFiniteLoss(ArithmeticError):
    """A loss became NaN or infinite.

    Attributes: `update` (counted from 1), `loss`, `last_finite` (None if there was none), `rows`, what had
    been recorded until then, and `job`, the run's settings with its seed (None outside an experiment).
    """

    def __init__(
        self, update: int, loss: float, last_finite: float | None, rows: list[Row], job: Job | None = None
    ) -> None:
        super().__init__(update, loss, last_finite, rows, job)
        self.update, self.loss, self.last_finite, self.rows, self.job = update, loss, last_finite, rows, job

    def __str__(self) -> str:
        run = "" if self.job is None else f" of {', '.join(f'{k} = {v}' for k, v in self.job.items())}"
        before = (
            "there was no finite loss before"
            if self.last_finite is None
            else (f"the last finite loss was {self.last_finite:.6g}")
        )
        return (
            f"The loss became {self.loss} at update {self.update}{run}; {before}. Lower the learning rate, "
            f"or look at the batch of that update."
        )


@dataclass
class Run:
    """What a run has recorded so far.

    Attributes: `rows`; `best`, the selected model's value of `Task.select`, its `update` and `weights`; and
    `selected`, in the end, a row of that model measured on `Task.last_parts`.
    """

    rows: list[Row] = field(default_factory=list)
    best: dict[str, Any] | None = None
    selected: Row | None = None


def train(
    task: Task,
    *,
    job: Job | None = None,
    seed: int = 0,
    machine: Machine | None = None,
    group: Group = ALONE,
    folder: RunFolder | None = None,
    every_seconds: float = 60.0,
    progress: bool | None = None,
    log: Callable[[Row], None] | None = None,
) -> Run:
    """Train a task to its end, from its last checkpoint if its folder has one.

    Args:
        task: see `Task`. Its model is left in training mode.
        job: the run's settings, for error messages.
        seed: of the model's own noise.
        machine: default: float32 on the CPU.
        group: the processes that train together.
        folder: where checkpoints go; None for none.
        every_seconds: time from one checkpoint to the next; 0 for one at every update.
        progress: show a bar on stderr; default: only if stderr is a terminal.
        log: called with each new row, in the first process.

    Returns:
        A `Run`. Rows stand before the first update, every `task.every`, and after the last, with `update`,
        `cases_seen`, `seconds` (training only, evaluation not counted), `train_loss` (mean over the updates
        since the row before, each in training mode before its step; None at update 0) and the measures.
        Killed and resumed, a run gives the same rows but for `seconds`, bit for bit on the same machine.

    Raises:
        ValueError: no updates, no rows, or fewer batches than updates.
        NonFiniteLoss: with the exact update, found when the row that would hold it is due; so no update
            has to wait for a GPU.
        OutputError: the folder cannot be written.
    """
    if task.updates < 1 or task.every < 1:
        raise ValueError(f"Both must be at least 1: updates = {task.updates}, every = {task.every}.")
    return _Loop(task, job, seed, machine or Machine(), group, folder, every_seconds, log).run(progress)


class _Loop:
    """The state of a run between updates: everything that a checkpoint holds."""

    def __init__(
        self,
        task: Task,
        job: Job | None,
        seed: int,
        machine: Machine,
        group: Group,
        folder: RunFolder | None,
        every_seconds: float,
        log: Callable[[Row], None] | None,
    ) -> None:
        self.task, self.job, self.seed, self.machine, self.group = task, job, seed, machine, group
        self.folder, self.every_seconds, self.log = folder, every_seconds, log
        self.model = group.wrap(task.model)
        self.scaler = torch.amp.GradScaler(machine.device.type, enabled=machine.autocast == torch.float16)
        self.done = Run()
        self.losses: list[Tensor] = []
        self.last_finite: float | None = None
        self.update, self.cases_seen, self.seconds = 0, 0, 0.0

    def run(self, progress: bool | None) -> Run:
        state = self.folder.load() if self.folder else None
        self.group.wait()
        if state is not None:
            self.load_state_dict(state)
        else:
            self._record(None)
        self.model.train()
        updates, saved = self.task.updates, time.monotonic()
        bar = tqdm(
            total=updates,
            initial=self.update,
            unit="update",
            leave=False,
            disable=not (wanted(progress) and self.group.first),
        )
        with bar:
            self.start = time.perf_counter()
            while self.update < updates:
                self.losses.append(self._step())
                bar.update()
                due = self.update % self.task.every == 0 or self.update == updates
                if due:
                    self._row()
                # a clock differs from process to process: a group keeps to its rows
                late = due if self.group.world > 1 else time.monotonic() - saved >= self.every_seconds
                if self.folder and (late or self.update == updates):
                    self._save()
                    saved = time.monotonic()
        return self._finish()

    def _step(self) -> Tensor:
        task, machine = self.task, self.machine
        cases = tuple(x.to(machine.device, non_blocking=True) for x in _next(task.batches, self.update + 1))
        noise = noise_of(self.seed, self.update, self.group.rank)
        with _autocast(machine):
            value = task.loss(self.model, cases, noise)
        task.optimizer.zero_grad()
        self.scaler.scale(value).backward()
        if task.clip is not None:
            self.scaler.unscale_(task.optimizer)
            nn.utils.clip_grad_norm_(task.model.parameters(), task.clip)
        self.scaler.step(task.optimizer)
        self.scaler.update()
        self.update += 1
        self.cases_seen += len(cases[0]) * self.group.world
        return value.detach()

    def _check(self) -> list[float]:
        """The losses since the row before, all known to be finite."""
        values = self.group.sum(torch.stack(self.losses)).div(self.group.world).tolist()
        for update, value in enumerate(values, self.update - len(values) + 1):
            if not math.isfinite(value):
                raise NonFiniteLoss(update, value, self.last_finite, self.done.rows, self.job)
            self.last_finite = value
        return values

    def _row(self) -> None:
        values = self._check()
        self.seconds += time.perf_counter() - self.start
        self._record(math.fsum(values) / len(values))
        self.losses.clear()
        self.start = time.perf_counter()

    def _record(self, train_loss: float | None) -> None:
        row: Row = {"update": self.update, "cases_seen": self.cases_seen, "seconds": self.seconds}
        row["train_loss"] = train_loss
        row |= self._measures(last=self.update == self.task.updates)
        self.done.rows.append(row)
        select = self.task.select
        if select is not None and (self.done.best is None or row[select] < self.done.best["value"]):
            weights = {k: v.detach().cpu().clone() for k, v in self.task.model.state_dict().items()}
            self.done.best = {"value": row[select], "update": self.update, "weights": weights}
        if self.group.first:
            if self.folder:
                self.folder.write_rows(self.done.rows)
            if self.log:
                self.log(row)

    def _measures(self, *, last: bool) -> dict[str, float]:
        self.group.agree(self.task.model)
        self.task.model.eval()
        with torch.no_grad(), _autocast(self.machine):
            found = measures(self.task, self.seed, self.machine, self.group, last=last)
        self.task.model.train()
        return found

    def _save(self) -> None:
        if self.losses:
            self._check()  # what is kept is sound
        now = time.perf_counter()
        self.seconds, self.start = self.seconds + now - self.start, now
        if self.folder and self.group.first:
            self.folder.save(self.update, self.state_dict())
            self.start = time.perf_counter()

    def state_dict(self) -> dict[str, Any]:
        """All that the rest of the run depends on; numbers, strings and tensors only."""
        batches = self.task.batches
        return {
            "update": self.update,
            "cases_seen": self.cases_seen,
            "seconds": self.seconds,
            "last_finite": self.last_finite,
            "losses": torch.stack(self.losses) if self.losses else torch.empty(0),
            "rows": self.done.rows,
            "best": self.done.best,
            "model": self.task.model.state_dict(),
            "optimizer": self.task.optimizer.state_dict(),
            "scaler": self.scaler.state_dict(),
            "batches": batches.state_dict() if hasattr(batches, "state_dict") else None,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Stand where the run stood."""
        self.update, self.cases_seen, self.seconds = (state[k] for k in ("update", "cases_seen", "seconds"))
        self.last_finite = state["last_finite"]
        self.losses = list(state["losses"].to(self.machine.device))
        self.done = Run(list(state["rows"]), state["best"])
        self.task.model.load_state_dict(state["model"])
        self.task.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.task.batches.load_state_dict(state["batches"])  # type: ignore[attr-defined]
        if self.folder and self.group.first:
            self.folder.write_rows(self.done.rows)

    def _finish(self) -> Run:
        best = self.done.best
        if best is not None:
            last = copy.deepcopy(self.task.model.state_dict())
            self.task.model.load_state_dict(best["weights"])
            row = next(row for row in self.done.rows if row["update"] == best["update"])
            self.done.selected = row | self._measures(last=True)
            self.task.model.load_state_dict(last)
            if self.folder and self.group.first:
                self.folder.write_selected(best["weights"])
        return self.done


def _next(batches: Iterator[Cases], update: int) -> Cases:
    """The next batch; a bare StopIteration would end a caller's loop as if all were well."""
    try:
        return next(batches)
    except StopIteration:
        raise ValueError(f"The batches ended before update {update}; give as many as updates.") from None


def _autocast(machine: Machine) -> Any:
    if machine.autocast is None:
        return nullcontext()
    return torch.autocast(machine.device.type, dtype=machine.autocast)


def fit(
    model: nn.Module,
    batches: Iterator[Cases],
    loss: Callable[[Tensor, Tensor], Float[Tensor, ""]],
    optimizer: torch.optim.Optimizer,
    *,
    updates: int,
    device: torch.device | str,
    every: int,
    evaluate: Callable[[nn.Module], Mapping[str, float]] | None = None,
    progress: bool | None = None,
) -> list[Row]:
    """`train` for a model that is fitted by the way, in a chapter or a test: the rows, no checkpoints.

    Args:
        model: takes a batch's inputs; already on `device`.
        batches: pairs (inputs, targets), moved to `device` here.
        loss: of (outputs, targets), a scalar.
        optimizer: over the model's parameters.
        updates, every: as in `Task`.
        device: where to compute; never guessed.
        evaluate: measures the model, which it finds in evaluation mode and without gradients.
        progress: as in `train`.

    Returns and raises what `train` does.
    """
    task = _Fit(model, batches, loss, optimizer, updates, every, evaluate)
    return train(task, machine=Machine(torch.device(device)), progress=progress).rows


class _Fit(Task):
    parts: Mapping[str, Cases] = {}

    def __init__(self, model, batches, criterion, optimizer, updates, every, evaluate):  # type: ignore[no-untyped-def]
        self.model, self.batches, self.optimizer = model, batches, optimizer
        self.updates, self.every = updates, every
        self.criterion, self.evaluate_model = criterion, evaluate

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        return self.criterion(model(cases[0]), cases[1])

    def measure(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Mapping[str, Tensor]:
        raise NotImplementedError("there are no parts to measure")

    def overall(self, model: nn.Module) -> Mapping[str, float]:
        return {} if self.evaluate_model is None else self.evaluate_model(model)

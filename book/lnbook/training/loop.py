"""The training loop of every experiment."""

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from lnbook.training.batches import noise_of
from lnbook.training.checkpoint import RunFolder
from lnbook.training.distributed import ALONE, Group
from lnbook.training.measure import measures
from lnbook.training.signals import postponed
from lnbook.training.task import Job, Machine, Row, Task

__all__ = ["NonFiniteLoss", "Run", "train"]


class NonFiniteLoss(ArithmeticError):
    """A loss became NaN or infinite; `rows` were recorded until then."""

    def __init__(self, message: str, rows: list[Row]) -> None:
        super().__init__(message, rows)
        self.rows = rows

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass
class Run:
    """What a run has recorded so far.

    Attributes: `rows`; `best`, the row and the weights of the model with the least value of `Task.select`;
    `selected`, in the end, that row with the measures of `Task.last_parts`; and `wall_seconds`, all the time
    it took, evaluation and earlier sessions (up to their last checkpoints) included.
    """

    rows: list[Row] = field(default_factory=list)
    best: dict[str, Any] | None = None
    selected: Row | None = None
    wall_seconds: float = 0.0

    def add(self, row: Row, select: str | None, model: nn.Module) -> None:
        """Append a row; keep the weights if it is the best in the column `select`. NaN is worst."""
        self.rows.append(row)
        best = self.best["row"][select] if self.best else math.nan
        if select is not None and (row[select] < best or math.isnan(best)):
            weights = {k: v.detach().cpu().clone() for k, v in model.state_dict().items()}
            self.best = {"row": row, "weights": weights}


def train(
    task: Task,
    *,
    job: Job | None = None,
    seed: int = 0,
    machine: Machine | None = None,
    group: Group = ALONE,
    folder: RunFolder | None = None,
    every_seconds: float = 60.0,
    progress: bool = False,
    log: Callable[[Row], None] | None = None,
) -> Run:
    """Train a task to its end, from its last checkpoint if its folder has one.

    Args:
        task: see `Task`. Its model is left in training mode.
        job: the run's settings, for error messages.
        seed: of the model's own noise.
        machine: default: float32 on the CPU.
        group: the processes that train together.
        folder: where checkpoints go; None for none, and in all processes but the first.
        every_seconds: time from one checkpoint to the next; 0 for one at every update. A group, whose clocks
            differ, writes one at each row.
        progress: show a bar on stderr.
        log: called with each new row, in the first process.

    Returns:
        A `Run`. Rows stand before the first update, every `task.every`, and after the last, with `update`,
        `cases_seen`, `seconds` (training only, evaluation not counted), `train_loss` (mean over the updates
        since the row before, each in training mode before its step; None at update 0) and the measures.
        Killed and resumed, a run gives the same rows but for `seconds`, bit for bit on the same machine.

    Raises:
        NonFiniteLoss: with the exact update, found when the row that would hold it is due; so no update
            has to wait for a GPU.
        CheckpointError: the folder's checkpoint cannot be used.
        KeyboardInterrupt: for Ctrl-C and, with a folder, SIGTERM; a checkpoint of this update was written.
    """
    return _Loop(task, job, seed, machine or Machine(), group, folder, log).run(every_seconds, progress)


@dataclass
class _Loop:
    """The state of a run between updates: everything that a checkpoint holds."""

    task: Task
    job: Job | None
    seed: int
    machine: Machine
    group: Group
    folder: RunFolder | None
    log: Callable[[Row], None] | None

    def __post_init__(self) -> None:
        self.model = self.group.wrap(self.task.model)
        self.done = Run()
        self.losses: list[Tensor] = []
        self.last_finite: float | None = None
        self.update, self.cases_seen, self.seconds = 0, 0, 0.0
        self.began = self.start = time.perf_counter()  # of this session, and of what `seconds` lacks

    def run(self, every_seconds: float, progress: bool) -> Run:
        state = self.group.share(self.folder.load() if self.folder else None)
        if state is None:
            self._record(None)
        else:
            self._resume(state)
        self.model.train()
        updates, alone = self.task.updates, self.group.world == 1
        bar = tqdm(total=updates, initial=self.update, unit="update", leave=False, disable=not progress)
        with bar, postponed(self.folder is not None and alone) as stops:
            self.start = saved = time.perf_counter()
            while self.update < updates:
                self.losses.append(self._step())
                due = self.update % self.task.every == 0 or self.update == updates
                if due:
                    self._row()
                bar.update()
                # a clock differs from process to process: a group keeps to its rows
                late = time.perf_counter() - saved >= every_seconds if alone else due
                if self.folder and (late or stops or self.update == updates):
                    self._save(self.folder)
                    saved = time.perf_counter()
                if stops and self.update < updates:
                    raise KeyboardInterrupt(f"stopped after update {self.update} of {updates}")
        return self._finish()

    def _step(self) -> Tensor:
        task, machine = self.task, self.machine
        cases = tuple(x.to(machine.device, non_blocking=True) for x in next(task.batches))
        noise = noise_of(self.seed, self.update, self.group.rank)
        with _autocast(machine):
            value = task.loss(self.model, cases, noise)
        task.optimizer.zero_grad()
        value.backward()
        if task.clip is not None:
            nn.utils.clip_grad_norm_(task.model.parameters(), task.clip)
        task.optimizer.step()
        self.update += 1
        self.cases_seen += len(cases[0]) * self.group.world
        return value.detach()

    def _check(self) -> list[float]:
        """The losses since the row before, all known to be finite."""
        values = self.group.sum(torch.stack(self.losses)).div(self.group.world).tolist()
        for update, value in enumerate(values, self.update - len(values) + 1):
            if not math.isfinite(value):
                run = f" of {', '.join(f'{k} = {v}' for k, v in self.job.items())}" if self.job else ""
                raise NonFiniteLoss(
                    f"The loss became {value} at update {update}{run}; the last finite loss was "
                    f"{self.last_finite}. Lower the learning rate, or look at the batch of that update.",
                    self.done.rows,
                )
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
        self.done.add(row, self.task.select, self.task.model)
        if self.log and self.group.first:
            self.log(row)

    def _measures(self, *, last: bool) -> dict[str, float]:
        self.group.agree(self.task.model)
        self.task.model.train(mode=False)
        with torch.no_grad(), _autocast(self.machine):
            found = measures(self.task, self.seed, self.machine, self.group, last=last)
        self.task.model.train()
        return found

    def _save(self, folder: RunFolder) -> None:
        if self.losses:
            self._check()  # what is kept is sound
        now = time.perf_counter()
        self.seconds, self.start = self.seconds + now - self.start, now
        folder.save(self.state_dict())
        self.start = time.perf_counter()

    def _wall(self) -> float:
        return self.done.wall_seconds + time.perf_counter() - self.began

    def state_dict(self) -> dict[str, Any]:
        """All that the rest of the run depends on; numbers, strings and tensors only."""
        return {
            "update": self.update,
            "updates": self.task.updates,
            "cases_seen": self.cases_seen,
            "seconds": self.seconds,
            "wall_seconds": self._wall(),
            "last_finite": self.last_finite,
            "losses": torch.stack(self.losses) if self.losses else torch.empty(0),
            "rows": self.done.rows,
            "best": self.done.best,
            "model": self.task.model.state_dict(),
            "optimizer": self.task.optimizer.state_dict(),
            "batches": self.task.batches.state_dict(),  # type: ignore[attr-defined]
        }

    def _resume(self, state: Mapping[str, Any]) -> None:
        """Stand where the run stood."""
        for name in ("update", "cases_seen", "seconds", "last_finite"):
            setattr(self, name, state[name])
        self.losses = list(state["losses"].to(self.machine.device))
        self.done = Run(list(state["rows"]), state["best"], wall_seconds=state["wall_seconds"])
        self.task.model.load_state_dict(state["model"])
        self.task.optimizer.load_state_dict(state["optimizer"])
        self.task.batches.load_state_dict(state["batches"])  # type: ignore[attr-defined]

    def _finish(self) -> Run:
        if best := self.done.best:
            last = copy.deepcopy(self.task.model.state_dict())
            self.task.model.load_state_dict(best["weights"])
            self.done.selected = best["row"] | self._measures(last=True)
            self.task.model.load_state_dict(last)
            if self.folder:
                self.folder.write_selected(best["weights"])
        self.done.wall_seconds = self._wall()
        return self.done


def _autocast(machine: Machine) -> Any:
    return torch.autocast(machine.device.type, dtype=machine.autocast, enabled=machine.autocast is not None)

"""Checkpoints: a run that was interrupted goes on from the newest one, and only as what it was."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from lnbook.ledger.rows import UNFINISHED, write_whole
from lnbook.training.task import Job

__all__ = ["CheckpointError", "RunFolder"]

FILES = ("checkpoint.pt", "selected.pt", "outcome.json")


class CheckpointError(ValueError):
    """A run's folder is in use, holds another run, or cannot be read."""


class RunFolder:
    """Where one run keeps what it needs to go on; inside `with`, no other process has the folder.

    `checkpoint.pt` is the newest state, `selected.pt` has the weights of the selected model, `outcome.json`
    all that a finished run says. Each is written whole or not at all. `sessions` says how each session
    computed that led to the newest state.

    Args:
        path: created if it is not there.
        job: what must be the same when the run goes on.
        changed_code: whether the commit may be another one all the same.
    """

    def __init__(self, path: Path, job: Job, *, changed_code: bool = False) -> None:
        self.path, self.job = path, dict(job)
        self.may_differ = {"commit"} if changed_code else set()
        self.sessions: list[dict[str, Any]] = []

    def __enter__(self) -> "RunFolder":
        self._lock = _held(self.path)
        for left in self.path.glob(f"*{UNFINISHED}"):  # by a process that was killed as it wrote
            left.unlink()
        return self

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the checkpoint."""
        self._write("checkpoint.pt", {**state, "job": self.job, "sessions": self.sessions})

    def load(self) -> dict[str, Any] | None:
        """The newest checkpoint, None if there is none; raises `CheckpointError` for that of another run."""
        state = self.peek(self.path)
        if state is not None:
            self._check(state.pop("job"), self.may_differ)
            self.sessions[:0] = state.pop("sessions")
        return state

    def outcome(self) -> dict[str, Any] | None:
        """What this run left if it has finished; whatever the commit is, there is nothing to go on with."""
        found = self.outcome_in(self.path)
        if found is not None and "job" in found:
            self._check(found["job"], {"commit"})
        return found

    def write_selected(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Keep the weights of the selected model, for `torch.load(..., weights_only=True)`."""
        self._write("selected.pt", weights)

    def write_outcome(self, outcome: Mapping[str, Any]) -> None:
        """Mark the run as finished, with its `rows`, `facts` and what `failed`."""
        content = json.dumps({**outcome, "job": self.job}) + "\n"
        write_whole(self.path / "outcome.json", content.encode())

    def _write(self, name: str, state: Mapping[str, Any]) -> None:
        content = io.BytesIO()
        torch.save(dict(state), content)
        write_whole(self.path / name, content.getvalue())

    def _check(self, found: Job, may_differ: set[str]) -> None:
        """Refuse another run than this."""
        differ = [
            key for key in sorted({*found, *self.job} - may_differ) if found.get(key) != self.job.get(key)
        ]
        if differ:
            there, here = (", ".join(f"{k} = {run.get(k)!r}" for k in differ) for run in (found, self.job))
            way = " or go on with --accept changed-code, which is recorded," if differ == ["commit"] else ""
            raise CheckpointError(
                f"{self.path} holds another run: {there} there, {here} here; put that back,{way} begin anew "
                f"with --restart, or give another --out."
            )

    @staticmethod
    def peek(path: Path) -> dict[str, Any] | None:
        """The checkpoint of a run that may be under way, with its `job` and `sessions`; None if none."""
        file = path / "checkpoint.pt"
        if not file.is_file():
            return None
        try:
            state: dict[str, Any] = torch.load(file, weights_only=True, map_location="cpu")
        except Exception as error:  # torch.load documents none
            raise CheckpointError(f"{file} cannot be read; begin anew with --restart.") from error
        return state

    @staticmethod
    def outcome_in(path: Path) -> dict[str, Any] | None:
        """What a finished run left in its folder; None if it has not finished."""
        file = path / "outcome.json"
        if not file.is_file():
            return None
        found: dict[str, Any] = json.loads(file.read_bytes())
        return found

    @staticmethod
    def begun(path: Path) -> bool:
        """Whether there is anything to go on with."""
        return any((path / name).is_file() for name in FILES)

    @staticmethod
    def clear(path: Path) -> None:
        """Begin anew: remove what a run leaves in its folder."""
        with _held(path):
            for name in FILES:
                (path / name).unlink(missing_ok=True)


def _held(path: Path) -> FileLock:
    """The folder's lock, which the system takes back when this process ends, however it ends."""
    path.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path / "lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise CheckpointError(f"{path} is in use by another process; wait for it, or stop it.") from None
    return lock

"""Checkpoints: a run that was interrupted goes on from the newest one, and only as what it was."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from lnbook.ledger.rows import write_whole
from lnbook.training.task import Job

FILES = ("checkpoint.pt", "selected.pt", "outcome.json")


class CheckpointError(ValueError):
    """A run's folder is in use, or holds another run."""


class RunFolder:
    """Where one run keeps what it needs to go on; inside `with`, no other process has the folder.

    `checkpoint.pt` is the newest state, `selected.pt` has the weights of the selected model, `outcome.json`
    all that a finished run says. Each is written whole or not at all.

    A run goes on if its `job` is the same; with `changed_code` the commit may differ. `session` says how this
    process computes; `sessions` lists those that led to the newest state, and it.
    """

    def __init__(
        self, path: Path, job: Job, session: Mapping[str, Any] | None = None, *, changed_code: bool = False
    ) -> None:
        self.path, self.job, self.changed_code = path, dict(job), changed_code
        self.sessions = [dict(session or {})]

    def __enter__(self) -> "RunFolder":
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self.path / "lock", timeout=0)  # the system takes it back however we end
        try:
            self._lock.acquire()
        except Timeout:
            raise CheckpointError(f"{self.path} is in use by another process; wait, or stop it.") from None
        return self

    def __exit__(self, *exception: object) -> None:
        self._lock.release()

    def save(self, state: Mapping[str, Any]) -> None:
        """Replace the checkpoint."""
        self._write("checkpoint.pt", {**state, "job": self.job, "sessions": self.sessions})

    def load(self) -> dict[str, Any] | None:
        """The newest checkpoint, None if there is none; raises `CheckpointError` for that of another run."""
        file = self.path / "checkpoint.pt"
        if not file.is_file():
            return None
        state: dict[str, Any] = torch.load(file, weights_only=True, map_location="cpu")
        self._check(state.pop("job"), self.changed_code)
        self.sessions[:0] = state.pop("sessions")
        return state

    def outcome(self) -> dict[str, Any] | None:
        """What this run left if it has finished; whatever the commit is, there is nothing to go on with."""
        if (found := self.outcome_in(self.path)) is not None:
            self._check(found["job"], changed_code=True)
        return found

    def write_selected(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Keep the weights of the selected model, for `torch.load(..., weights_only=True)`."""
        self._write("selected.pt", weights)

    def write_outcome(self, outcome: Mapping[str, Any]) -> None:
        """Mark the run as finished, with its `rows`, `facts` and what `failed`."""
        content = json.dumps({**outcome, "job": self.job}) + "\n"
        write_whole(self.path / "outcome.json", content.encode())

    def clear(self) -> None:
        """Begin anew: remove what a run leaves in its folder."""
        for name in FILES:
            (self.path / name).unlink(missing_ok=True)

    def _write(self, name: str, state: Mapping[str, Any]) -> None:
        content = io.BytesIO()
        torch.save(dict(state), content)
        write_whole(self.path / name, content.getvalue())

    def _check(self, found: Job, changed_code: bool) -> None:
        """Refuse another run than this."""
        keys = {*found, *self.job} - ({"commit"} if changed_code else set())
        differ = [key for key in sorted(keys) if found.get(key) != self.job.get(key)]
        if differ:
            there, here = (", ".join(f"{k} = {run.get(k)!r}" for k in differ) for run in (found, self.job))
            raise CheckpointError(
                f"{self.path} holds another run: {there} there, {here} here; put that back, begin anew with "
                f"--restart, or give another --out. A commit alone passes with --accept changed-code."
            )

    @staticmethod
    def outcome_in(path: Path) -> dict[str, Any] | None:
        """What a finished run left in its folder; None if it has not finished."""
        file = path / "outcome.json"
        found: dict[str, Any] | None = json.loads(file.read_bytes()) if file.is_file() else None
        return found

    @staticmethod
    def begun(path: Path) -> bool:
        """Whether there is anything to go on with."""
        return any((path / name).is_file() for name in FILES)

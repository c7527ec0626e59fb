"""Checkpoints: a run that was interrupted goes on from the newest one, and only as what it was."""

import contextlib
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from lnbook.ledger.rows import write_whole
from lnbook.training.task import Job, Row


class CheckpointError(ValueError):
    """A run's folder is in use, or holds another run."""


@dataclass(frozen=True)
class Outcome:
    """One run: its job, its rows, and how they came about; `failed` says why it stopped early."""

    job: Job
    rows: list[Row]
    facts: Mapping[str, Any]
    failed: str = ""


class RunFolder:
    """Where one run keeps what it needs to go on; inside `with`, no other process has the folder.

    `checkpoint.pt` is the newest state, `selected.pt` has the weights of the selected model, `outcome.json`
    all that a finished run says. A run is what `same` says of its settings and data. It goes on if `code`,
    its commit and its rules, is the same as well; once it has finished, other code may read it.
    """

    def __init__(self, path: Path, same: Job, code: Job) -> None:
        self.path, self.same, self.code = path, dict(same), dict(code)

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
        self.write("checkpoint.pt", {**state, "same": self.same, "code": self.code})

    def load(self) -> dict[str, Any] | None:
        """The newest checkpoint, None if there is none; raises `CheckpointError` for that of another run."""
        with contextlib.suppress(FileNotFoundError):
            file = self.path / "checkpoint.pt"
            state: dict[str, Any] = torch.load(file, weights_only=True, map_location="cpu")
            _refuse_another(self.path, state.pop("same") | state.pop("code"), self.same | self.code)
            return state
        return None

    def write(self, name: str, state: Mapping[str, Any]) -> None:
        """Write tensors, numbers and strings."""
        content = io.BytesIO()
        torch.save(dict(state), content)
        write_whole(self.path / name, content.getvalue())

    def finish(self, outcome: Outcome) -> None:
        """Mark the run as finished."""
        content = json.dumps({**asdict(outcome), "same": self.same}) + "\n"
        write_whole(self.path / "outcome.json", content.encode())


def finished(path: Path, same: Job | None = None) -> Outcome | None:
    """What a run left if it has finished; raises `CheckpointError` if that is not the `same`."""
    with contextlib.suppress(FileNotFoundError):
        found = json.loads((path / "outcome.json").read_bytes())
        there = found.pop("same")
        _refuse_another(path, there, there if same is None else same)
        return Outcome(**found)
    return None


def _refuse_another(path: Path, there: Job, here: Job) -> None:
    if differ := [key for key in sorted({*there, *here}) if there.get(key) != here.get(key)]:
        said = [", ".join(f"{k} = {run.get(k)!r}" for k in differ) for run in (there, here)]
        raise CheckpointError(
            f"{path} holds another run: {said[0]} there, {said[1]} here; put that back, give another --out, "
            f"or remove that folder to begin anew."
        )

"""Checkpoints that survive being killed at any instant, and that know when they are damaged.

A file appears under its name whole or not at all; `lnbook.training.format` says what is in it.
"""

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from lnbook.ledger.files import UNFINISHED
from lnbook.training.errors import CheckpointError, DamagedCheckpoint
from lnbook.training.files import lock, make_folder, write_whole
from lnbook.training.format import as_bytes, as_checkpoint, read_checkpoint
from lnbook.training.sameness import difference, differences, settled
from lnbook.training.task import Job, Row

__all__ = ["RunFolder"]

LEFT = f"*{UNFINISHED}"  # by a process that was killed as it wrote
KEPT = 2  # the newest, and the one before it in case the newest is damaged


class RunFolder:
    """Where one run keeps its checkpoints and rows, and where one process at a time may write.

    `job.json` says which run it is; `<update>.checkpoint` are the newest two; `rows.jsonl` grows by a line a
    row, to watch, and is never read; `sessions.json` says how each session computed; `selected.pt` holds the
    weights of the selected model, `outcome.json` all that a finished run says. Whatever turns out damaged is
    renamed to `*.damaged`, with a `DamagedCheckpoint` warning that names it; what was before it is used.

    Args:
        path: created if it is not there.
        job: what must not change when the run resumes: `lnbook.training.identity.identity`.
        changed_code: whether the code may have changed all the same.

    Raises:
        OutputError: the folder cannot be made or written.
        RunBusy: another process is at work in it.
        CheckpointError: the folder holds another run.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name, RunFolder(Path(name) / "run", {"seed": 0}) as folder:
    ...     for update in (10, 20, 30):
    ...         folder.save(update, {"update": update})
    ...     [file.name for file in folder.checkpoints()], folder.load()
    (['000000030.checkpoint', '000000020.checkpoint'], {'update': 30})
    """

    def __init__(self, path: Path, job: Job, *, changed_code: bool = False) -> None:
        self.path, self.job = path, json.loads(json.dumps(dict(job)))
        make_folder(path)
        self._lock = lock(path)
        try:
            self._claim(changed_code)
            for left in path.glob(LEFT):
                left.unlink()
        except BaseException:
            self.close()
            raise

    def _claim(self, changed_code: bool) -> None:
        known = self.path / "job.json"
        try:
            json.loads(known.read_bytes() if known.is_file() else b"{}")
        except ValueError as error:
            _put_aside(known, f"{known} is damaged: {error}.")
        self.compare(self.path, self.job, changed_code=changed_code)
        write_whole(known, (json.dumps(self.job, indent=1) + "\n").encode())

    @staticmethod
    def compare(path: Path, job: Job, *, changed_code: bool = False, data_only: bool = False) -> None:
        """Raises `CheckpointError` if a folder holds another run than this; its code may differ if so said.

        With `data_only` it may be another one that read other data than this would. Only looks; of a run
        without a sound `job.json` its newest checkpoint tells.
        """
        try:
            found = json.loads((path / "job.json").read_bytes())
        except (OSError, ValueError):
            found = next((theirs for file in _checkpoints(path) if (theirs := _job_in(file))), None)
        if found is None:
            return
        job = json.loads(json.dumps(dict(job)))
        if keys := differences(found, job, changed_code=changed_code, data_only=data_only):
            raise CheckpointError(difference(path, found, job, keys))

    def __enter__(self) -> "RunFolder":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let other processes have the folder."""
        self._lock.release()

    def checkpoints(self) -> list[Path]:
        """The checkpoints there are, the newest first."""
        return _checkpoints(self.path)

    def save(self, update: int, state: Mapping[str, Any]) -> None:
        """Write a checkpoint, then forget all but the newest two.

        Raises `OutputError` if the disk is full or refuses; older checkpoints are then as they were.
        """
        write_whole(self.path / f"{update:09d}.checkpoint", as_checkpoint({**state, "job": self.job}))
        self._forget(KEPT)

    def load(self) -> dict[str, Any] | None:
        """The newest checkpoint that is whole and this run's; None if the run has none.

        Raises `CheckpointError` if there were checkpoints and all are damaged.
        """
        for file in self.checkpoints():
            try:
                return _read(file, self.job)
            except CheckpointError as error:
                _put_aside(file, str(error))
        if any(self.path.glob("*.checkpoint.damaged")):
            raise CheckpointError(f"No checkpoint in {self.path} can be read; begin anew with --restart.")
        return None

    @staticmethod
    def peek(path: Path) -> dict[str, Any] | None:
        """The newest whole checkpoint of a run that may be under way; None if there is none. Only looks."""
        for file in _checkpoints(path):
            try:
                return _read(file)
            except CheckpointError:
                continue
        return None

    @staticmethod
    def clear(path: Path) -> None:
        """Begin anew: remove what a run leaves in its folder, and nothing else.

        Raises `RunBusy` if a process is at work in it.
        """
        held = lock(path)
        try:
            for pattern in ("*.checkpoint", "*.damaged", LEFT, "*.json", "rows.jsonl", "selected.pt"):
                for file in path.glob(pattern):
                    file.unlink()
        finally:
            held.release()

    @staticmethod
    def outcome_in(path: Path) -> dict[str, Any] | None:
        """What a finished run left in its folder; None if it has not finished.

        Raises `CheckpointError` if the file is damaged.
        """
        file = path / "outcome.json"
        if not file.is_file():
            return None
        try:
            found: dict[str, Any] = json.loads(file.read_bytes())
            told = found.pop("sha256", None)
            if told not in (None, _digest(found)):
                raise ValueError(f"its SHA-256 is {_digest(found)}, and was {told}")
            return {key: found[key] for key in ("rows", "facts", "failed")}
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise CheckpointError(f"{file} is damaged: {error}.") from error

    def outcome(self) -> dict[str, Any] | None:
        """What this run left if it has finished; a damaged file is put aside, and the run has not."""
        try:
            return self.outcome_in(self.path)
        except CheckpointError as error:
            _put_aside(self.path / "outcome.json", str(error))
            return None

    def write_outcome(self, outcome: Mapping[str, Any]) -> None:
        """Mark the run as finished, with its `rows`, `facts` and what `failed`; one checkpoint stays."""
        content = json.loads(json.dumps(dict(outcome)))
        content["sha256"] = _digest(content)
        write_whole(self.path / "outcome.json", (json.dumps(content) + "\n").encode())
        self._forget(1)

    def begin(self, facts: Mapping[str, Any]) -> None:
        """Note how this session computes: one entry of `sessions.json` for each time the run went on."""
        sessions = [*self.sessions(self.path), dict(facts)]
        write_whole(self.path / "sessions.json", (json.dumps(sessions, indent=1) + "\n").encode())

    @staticmethod
    def sessions(path: Path) -> list[dict[str, Any]]:
        """What `begin` noted; nothing if that cannot be read, for no number depends on it."""
        try:
            return [dict(facts) for facts in json.loads((path / "sessions.json").read_bytes())]
        except (OSError, ValueError, TypeError):
            return []

    def write_rows(self, rows: Sequence[Row]) -> None:
        """Replace `rows.jsonl`."""
        write_whole(self.path / "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())

    def write_selected(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Keep the weights of the selected model, for `torch.load(..., weights_only=True)`."""
        write_whole(self.path / "selected.pt", as_bytes(weights))

    def _forget(self, kept: int) -> None:
        for old in self.checkpoints()[kept:]:
            old.unlink(missing_ok=True)


def _checkpoints(path: Path) -> list[Path]:
    return sorted(path.glob("*.checkpoint"), reverse=True)


def _digest(outcome: Mapping[str, Any]) -> str:
    """Of numbers and strings, whatever white space a file puts between them."""
    return hashlib.sha256(json.dumps(outcome, sort_keys=True).encode()).hexdigest()


def _put_aside(file: Path, why: str) -> None:
    file.replace(file.with_name(file.name + ".damaged"))
    warnings.warn(f"{why} It is {file.name}.damaged now.", DamagedCheckpoint, stacklevel=4)


def _job_in(file: Path) -> Job | None:
    """The run that a checkpoint is of; None if it cannot be read."""
    try:
        found: Job | None = read_checkpoint(file).get("job")
    except CheckpointError:
        return None
    return found


def _read(file: Path, job: Job | None = None) -> dict[str, Any]:
    state = read_checkpoint(file)
    theirs = state.pop("job", job)
    # a checkpoint may be of the code before this, where that was accepted
    if job is not None and (keys := differences(settled(theirs), settled(job))):
        raise CheckpointError(difference(file, theirs, job, keys))
    return state

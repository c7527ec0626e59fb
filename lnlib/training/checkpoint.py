"""Checkpoints that survive being killed at any instant, and that know when they are damaged.

A file is a line that says what it is, the SHA-256 of the rest, and what `torch.save` writes; it is read with
`weights_only=True`, so it can hold numbers but no code. It appears under its name whole or not at all.
"""

import hashlib
import io
import json
import os
import pickle
import shutil
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from lnlib.training.task import Job, Row

__all__ = ["CheckpointError", "DamagedCheckpoint", "OutputError", "RunFolder"]

MAGIC = b"lnlib checkpoint 1\n"
KEPT = 2  # the newest, and the one before it in case the newest is damaged


class OutputError(OSError):
    """A run's folder cannot be written. What it holds is as it was."""


class CheckpointError(ValueError):
    """A checkpoint that belongs to another run, or none that can be read."""


class DamagedCheckpoint(UserWarning):
    """A checkpoint is not what was written; it was put aside and the one before it is used."""


class RunFolder:
    """Where one run keeps its checkpoints and rows.

    `job.json` says which run it is; `<update>.checkpoint` are the newest two; `rows.jsonl` grows by a line a
    row, to watch; `selected.pt` holds the weights of the selected model, `outcome.json` all that a finished
    run says.

    Args:
        path: created if it is not there.
        job: what must not change when the run resumes: settings, scale, numbers.

    Raises:
        OutputError: the folder cannot be made or written.
        CheckpointError: the folder holds another run.
    """

    def __init__(self, path: Path, job: Job) -> None:
        self.path, self.job = path, dict(job)
        known = path / "job.json"
        if known.is_file() and (found := json.loads(known.read_text(encoding="utf-8"))) != self.job:
            different = sorted(k for k in {*found, *self.job} if found.get(k) != self.job.get(k))
            raise CheckpointError(
                f"{path} holds another run: {', '.join(f'{k} = {found.get(k)!r}' for k in different)} there, "
                f"{', '.join(f'{k} = {self.job.get(k)!r}' for k in different)} here; give another --out."
            )
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _output_error(path, error) from error
        self._write(known, (json.dumps(self.job, indent=1) + "\n").encode())

    def checkpoints(self) -> list[Path]:
        """The checkpoints there are, the newest first."""
        return sorted(self.path.glob("*.checkpoint"), reverse=True)

    def save(self, update: int, state: Mapping[str, Any]) -> None:
        """Write a checkpoint, then forget all but the newest two.

        Raises `OutputError` if the disk is full or refuses; older checkpoints are then as they were.
        """
        content = io.BytesIO()
        torch.save(dict(state), content)
        payload = content.getvalue()
        digest = hashlib.sha256(payload).hexdigest().encode()
        self._write(self.path / f"{update:09d}.checkpoint", MAGIC + digest + b"\n" + payload)
        for old in self.checkpoints()[KEPT:]:
            old.unlink()

    def load(self) -> dict[str, Any] | None:
        """The newest checkpoint that is whole; None if the run has none.

        A damaged one is renamed to `*.damaged`, with a `DamagedCheckpoint` warning that names it. Raises
        `CheckpointError` if there are checkpoints and all are damaged.
        """
        found = self.checkpoints()
        for file in found:
            try:
                return _read(file)
            except CheckpointError as error:
                file.replace(file.with_suffix(".damaged"))
                warnings.warn(f"{error} It is {file.stem}.damaged now.", DamagedCheckpoint, stacklevel=2)
        if found:
            raise CheckpointError(f"No checkpoint in {self.path} can be read; begin anew with --restart.")
        return None

    @staticmethod
    def clear(path: Path) -> None:
        """Begin anew: remove what a run leaves in its folder, and nothing else."""
        for pattern in ("*.checkpoint", "*.damaged", "*.new", "*.json", "rows.jsonl", "selected.pt"):
            for file in path.glob(pattern):
                file.unlink()

    @staticmethod
    def outcome_in(path: Path) -> dict[str, Any] | None:
        """What a finished run left in its folder; None if it has not finished."""
        file = path / "outcome.json"
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

    def write_outcome(self, outcome: Mapping[str, Any]) -> None:
        """Mark the run as finished, with its rows and provenance."""
        self._write(self.path / "outcome.json", (json.dumps(outcome) + "\n").encode())

    def write_rows(self, rows: Sequence[Row]) -> None:
        """Replace `rows.jsonl`."""
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        self._write(self.path / "rows.jsonl", lines.encode())

    def write_selected(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Keep the weights of the selected model, for `torch.load(..., weights_only=True)`."""
        content = io.BytesIO()
        torch.save(dict(weights), content)
        self._write(self.path / "selected.pt", content.getvalue())

    def _write(self, path: Path, content: bytes) -> None:
        """All of it under that name, or nothing: written aside, flushed to the disk, renamed."""
        aside = path.with_name(path.name + ".new")
        try:
            with aside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(path)
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise _output_error(path, error) from error


def _read(file: Path) -> dict[str, Any]:
    content = file.read_bytes()
    head, digest, payload = content[: len(MAGIC)], content[len(MAGIC) :][:64], content[len(MAGIC) + 65 :]
    if head != MAGIC:
        raise CheckpointError(f"{file} is damaged: it begins with {head[:20]!r}, not with {MAGIC!r}.")
    found = hashlib.sha256(payload).hexdigest()
    if found.encode() != digest:
        raise CheckpointError(
            f"{file} is damaged: its SHA-256 is {found}, and was {digest.decode('ascii', 'replace')}."
        )
    try:
        return torch.load(io.BytesIO(payload), weights_only=True, map_location="cpu")
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise CheckpointError(f"{file} is damaged: {error}.") from error


def _output_error(path: Path, error: OSError) -> OutputError:
    place = path if path.is_dir() else path.parent
    free = (
        f"{shutil.disk_usage(place).free / 1e6:.0f} MB are free there" if place.is_dir() else "no such folder"
    )
    return OutputError(
        f"{path} cannot be written: {error.strerror or error} ({free}). What was written before is "
        f"whole; make room or give another --out, then go on with --resume."
    )

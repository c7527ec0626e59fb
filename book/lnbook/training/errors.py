"""What can go wrong in a run, and what is then said."""

import errno
import shutil
from pathlib import Path

from lnbook.training.task import Job, Row

__all__ = [
    "CheckpointError",
    "DamagedCheckpoint",
    "NonFiniteLoss",
    "OutputError",
    "ProcessLost",
    "RunBusy",
    "output_error",
]

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


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
            else f"the last finite loss was {self.last_finite:.6g}"
        )
        return (
            f"The loss became {self.loss} at update {self.update}{run}; {before}. Lower the learning rate, "
            f"or look at the batch of that update."
        )


class OutputError(OSError):
    """A file of a run cannot be written. What was written before is as it was."""


class CheckpointError(ValueError):
    """A run's folder holds another run, or nothing that can be read."""


class DamagedCheckpoint(UserWarning):
    """A file of a run is not what was written; it was put aside, and the run goes on without it."""


class RunBusy(RuntimeError):
    """Another process is at work on this run."""


class ProcessLost(RuntimeError):
    """A process that this one works with has ended."""


def output_error(path: Path, error: OSError) -> OutputError:
    """The `OutputError` that says which file, why, and what to do.

    >>> str(output_error(Path("/a/rows.csv"), OSError(errno.EACCES, "Permission denied"))).split(". ")[0]
    '/a/rows.csv cannot be written: Permission denied'
    """
    advice = "Make room" if error.errno in FULL else "Make it writable, or give another --out"
    place = next((p for p in path.parents if p.is_dir()), None)
    if error.errno in FULL and place:
        advice += f" ({shutil.disk_usage(place).free / 1e6:.0f} MB are free in {place})"
    return OutputError(
        f"{path} cannot be written: {error.strerror or error}. What was written before is whole. {advice}, "
        f"then go on with --resume."
    )

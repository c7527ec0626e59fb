"""What a run says while it runs, and a sweep at its end."""

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tqdm import tqdm

from lnbook.ledger.intervals import interval
from lnbook.training.task import Job, Row

__all__ = ["LogLine", "differing", "stand_ins", "summary", "title"]

CLOCK = ("update", "cases_seen", "seconds", "selected", "train_loss")


def differing(jobs: Sequence[Job]) -> list[str]:
    """The settings by which jobs differ.

    >>> differing([{"norm": "layer", "rate": 0.1, "seed": 0}, {"norm": "batch", "rate": 0.1, "seed": 0}])
    ['norm']
    """
    return [key for key in (jobs[0] if jobs else {}) if len({str(job.get(key)) for job in jobs}) > 1]


def stand_ins(facts: Iterable[Mapping[str, Any]]) -> list[str]:
    """A line for each data set that runs wanted and did not get, by the facts recorded with them.

    >>> stand_ins([{"data": [{"name": "digits", "requested": "mnist"}]}, {"data": [{"name": "digits"}]}])
    ['mnist was not available; digits stood in for it.']
    """
    read = [data for run in facts for data in run.get("data", [])]
    pairs = dict.fromkeys((data.get("requested", data["name"]), data["name"]) for data in read)
    missed = [(wanted, name) for wanted, name in pairs if wanted != name]
    return [f"{wanted} was not available; {name} stood in for it." for wanted, name in missed]


def title(job: Job, names: Sequence[str]) -> str:
    """A run's name, in the form of `--only`; a chapter's own jobs may lack some of the names.

    >>> title({"norm": "layer", "rate": 0.1, "seed": 0}, ["norm", "seed"])
    'norm=layer seed=0'
    """
    return " ".join(f"{name}={job[name]}" for name in names if name in job)


class LogLine:
    """A line on stderr for each row: which run, how far, how fast, how long yet, the loss, and what selects.

    Args:
        name: of the run.
        updates: of the whole run.
        select: the column to show, beside the training loss.

    >>> from contextlib import redirect_stderr
    >>> row = {"update": 50, "cases_seen": 6400, "seconds": 0.5, "train_loss": 0.25, "valid_nll": 0.5}
    >>> with redirect_stderr(sys.stdout):
    ...     LogLine("norm=layer seed=0", 100, "valid_nll")(row)
    norm=layer seed=0: update 50/100, 12,800 examples/s, 00:00 left, train_loss 0.25, valid_nll 0.5
    """

    def __init__(self, name: str, updates: int, select: str | None) -> None:
        self.name, self.updates = name, updates
        self.shown = ["train_loss", *([select] if select else [])]
        self.row: Row = {"cases_seen": 0, "seconds": 0.0}
        self.first: tuple[int, float] | None = None

    def __call__(self, row: Row) -> None:
        """Write the line of this row."""
        words = [f"update {row['update']}/{self.updates}"]
        seconds = row["seconds"] - self.row["seconds"]
        if seconds > 0:
            words.append(f"{(row['cases_seen'] - self.row['cases_seen']) / seconds:,.0f} examples/s")
            words.append(f"{tqdm.format_interval(self._left(row))} left")
        words += [f"{name} {row[name]:.4g}" for name in self.shown if row.get(name) is not None]
        print(f"{self.name}: {', '.join(words)}", file=sys.stderr, flush=True)
        self.row = row
        self.first = self.first or (row["update"], time.monotonic())

    def _left(self, row: Row) -> float:
        """At the pace of this session, evaluation included; in its first row, that of all training."""
        per_update = row["seconds"] / row["update"]
        if self.first and row["update"] > self.first[0]:
            per_update = (time.monotonic() - self.first[1]) / (row["update"] - self.first[0])
        return per_update * (self.updates - row["update"])


def summary(rows: Sequence[Row], settings: Sequence[str]) -> str:
    """The selected models, a line for each setting: how many seeds, and means with 95 % intervals over them.

    Where nothing selects, the last row of each run counts. Shown are the measures of the part "test", or
    all if there is none such.

    Args:
        rows: of all runs, as `Outcome.rows`.
        settings: the keys of a job, with "seed".

    >>> row = {"norm": "layer", "selected": 1, "update": 9}
    >>> rows = [row | {"seed": k, "test_nll": 1.0 + k} for k in (0, 1, 2)]
    >>> print(summary(rows, ["norm", "seed"]))
    norm   seeds  test_nll
    layer  3      2 ± 2.5
    """
    keys = [key for key in settings if key != "seed"]
    groups = _groups(rows, keys)
    if not groups:
        return ""
    some = next(iter(groups.values()))[0]
    columns = [name for name in some if name not in (*settings, *CLOCK) and not name.endswith("_cases")]
    columns = [name for name in columns if name.startswith("test_")] or columns
    keys = differing([{key: found[0][key] for key in keys} for found in groups.values()]) or keys[:1]
    table = [[*keys, "seeds", *columns]]
    for found in groups.values():
        cells = [_cell([float(row[name]) for row in found if row.get(name) is not None]) for name in columns]
        table.append([*(str(found[0][key]) for key in keys), str(len(found)), *cells])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in table)
    return "\n".join(line.rstrip() for line in lines)


def _groups(rows: Sequence[Row], settings: Sequence[str]) -> Mapping[tuple[str, ...], list[Row]]:
    """Of each run its selected row, else its last, by settings."""
    ends: dict[tuple[str, ...], Row] = {}
    for row in rows:
        ends[(*(str(row[key]) for key in settings), str(row["seed"]))] = (
            row  # a run's selected row is its last
        )
    groups: dict[tuple[str, ...], list[Row]] = {}
    for key, row in ends.items():
        groups.setdefault(key[:-1], []).append(row)
    return groups


def _cell(values: Sequence[float]) -> str:
    if len(values) < 2:
        return f"{values[0]:.4g}" if values else ""
    mean, low, _ = interval(values)
    return f"{mean:.4g} ± {mean - low:.2g}"

"""The options of `python -m lnbook run`, and what they choose."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from lnbook.cli.experiments import EXPERIMENTS
from lnbook.ledger.rows import SCALES
from lnbook.training.task import Job, Machine

__all__ = ["UsageError", "chosen", "machine", "parser"]

ACCEPTED = ("changed-code", "stand-in", "partial", "dirty", "fewer")

NOTES = """
On Ctrl-C, SIGTERM or a closed terminal, every run under way writes a checkpoint and stops; a run that is
killed loses at most its last minute. --resume goes on, and gives the rows of an uninterrupted run, bit for
bit; a run whose settings, data or commit have changed does not go on.
Under torchrun the processes train one model together, run after run.

exit status: 0 done; 1 a run failed, and stderr says why; 2 the command cannot be carried
out, and stderr says why; 130 interrupted
"""


class UsageError(ValueError):
    """The command line asks for something that does not exist."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    sections = "\n".join(f"  {section}  {name}" for section, name in EXPERIMENTS.items())
    found = argparse.ArgumentParser(
        prog="python -m lnbook run",
        allow_abbrev=False,  # `--list` finds its own options by their full names
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Run one of the paper's experiments: several seeds of several methods, side by side.",
        epilog=f"experiments:\n{sections}\n{NOTES}",
    )
    found.add_argument("experiment", help="section or name: 6.6 or permutation_mnist")
    found.add_argument(
        "--settings",
        action="store_true",
        help="say where its settings come from and what is recorded; run nothing",
    )
    add = found.add_argument_group("which runs").add_argument
    add(
        "--scale",
        choices=SCALES,
        default="book",
        help="smoke: seconds; book (default): minutes; study: hours; paper: the paper's sizes",
    )
    add("--seed", type=int, default=0, metavar="S", help="the first seed (default 0)")
    add("--only", action="append", default=[], metavar="KEY=VALUE", help="runs with this setting; repeatable")
    add("--list", action="store_true", help="print a command for each run, and run nothing")
    add = found.add_argument_group("where the results go").add_argument
    add("--out", type=Path, metavar="DIR", help="checkpoints, rows and provenance (default: in _build)")
    add("--resume", action="store_true", help="go on with runs that have begun")
    add("--restart", action="store_true", help="start over with runs that have begun")
    add("--gather", action="store_true", help="run nothing; gather the rows of the finished runs")
    add("--record", action="store_true", help="keep rows and provenance in book/results/, to be committed")
    add(
        "--accept",
        action="append",
        default=[],
        choices=ACCEPTED,
        help="repeatable, and noted in the provenance. changed-code: go on with runs that another commit "
        "began; stand-in: allow one where scale study or paper lacks its data, and record it; partial, "
        "dirty, fewer: record only some of the runs, code that differs from its commit, fewer rows",
    )
    add = found.add_argument_group("on which machine").add_argument
    add("--device", choices=["cpu", "cuda"], default="cpu")
    add("--dtype", choices=["float32", "float64"], default="float32")
    add("--autocast", choices=["bfloat16"], help="compute in it where possible")
    add(
        "--processes",
        type=int,
        metavar="N",
        help="runs at a time (default: one per core; one on a GPU or at scale smoke)",
    )
    return found


def machine(options: argparse.Namespace) -> Machine:
    """Where to compute and at which precision; raises `UsageError` if that is impossible here."""
    if options.device == "cuda" and not torch.cuda.is_available():
        raise UsageError("torch finds no CUDA here; give --device cpu.")
    autocast = torch.bfloat16 if options.autocast else None
    return Machine(torch.device(options.device), getattr(torch, options.dtype), autocast)


def chosen(jobs: Sequence[Job], only: Sequence[str]) -> list[Job]:
    """The jobs that have all these settings; raises `UsageError` if there is none.

    >>> chosen([{"norm": "layer", "seed": 0}, {"norm": "batch", "seed": 0}], ["norm=batch"])
    [{'norm': 'batch', 'seed': 0}]
    """
    left = list(jobs)
    for condition in only:
        key, _, value = condition.partition("=")
        known = sorted({str(job[key]) for job in left if key in job})
        if value not in known:
            raise UsageError(
                f"--only {condition!r} fits no run; write KEY=VALUE with KEY one of {list(jobs[0])}"
                + (f" and VALUE one of {known}." if known else ".")
            )
        left = [job for job in left if str(job[key]) == value]
    return left

"""The options of `python -m lnbook run`, and what they choose."""

import argparse
from collections.abc import Sequence
from pathlib import Path

import torch

from lnbook.cli.experiments import EXPERIMENTS
from lnbook.ledger.rows import SCALES
from lnbook.training.task import Job, Machine

__all__ = ["UsageError", "check", "chosen", "device_of", "machine", "parser"]

TYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}

ACCEPTED = ("changed-code", "stand-in", "partial", "dirty", "fewer")

NOTES = """
On Ctrl-C, SIGTERM or a closed terminal, every run under way writes a checkpoint and stops; a run that is
killed loses what came after its last checkpoint. --resume goes on, and gives the rows of an uninterrupted
run, bit for bit; a run whose settings, data or code have changed does not go on.
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
    add("--job", type=int, metavar="K", help="only the K-th of these runs, from 0: for a scheduler's array")
    add("--list", action="store_true", help="print a command for each run, and run nothing")
    add = found.add_argument_group("where the results go").add_argument
    add("--out", type=Path, metavar="DIR", help="checkpoints, rows and provenance (default: in _build)")
    add("--resume", action="store_true", help="go on with runs that have begun")
    add("--restart", action="store_true", help="start over with runs that have begun")
    add("--gather", action="store_true", help="run nothing; gather the rows of the finished runs")
    add("--partial", action="store_true", help="also gather the rows of unfinished runs")
    add("--record", action="store_true", help="keep rows and provenance in book/results/, to be committed")
    add(
        "--accept",
        action="append",
        default=[],
        choices=ACCEPTED,
        help="repeatable, and noted in the provenance. changed-code: go on with runs that other code began; "
        "stand-in: allow one where scale study or paper lacks its data, and record it; partial, dirty, "
        "fewer: record only some of the runs, code that differs from its commit, fewer rows than before",
    )
    add("--every", type=float, default=60.0, metavar="SECONDS", help="between checkpoints (default 60)")
    add = found.add_argument_group("on which machine").add_argument
    add("--device", default="cpu", help="cpu (default), cuda, cuda:1, or auto: CUDA if there is one")
    add("--dtype", choices=["float32", "float64"], default="float32")
    add("--autocast", choices=["bfloat16", "float16"], help="compute in it where possible; with float32 only")
    add(
        "--processes",
        type=int,
        metavar="N",
        help="runs at a time (default: one per core; one on a GPU or at scale smoke)",
    )
    add("--threads", type=int, default=1, metavar="N", help="threads per run (default 1)")
    return found


def check(options: argparse.Namespace) -> None:
    """Raise `UsageError` for options that are impossible, alone or together."""
    if options.resume and options.restart:
        raise UsageError("--resume goes on with runs, --restart starts them over; give one.")
    if options.list and (options.restart or options.gather):
        raise UsageError(
            "--list prints commands that go on with runs where they stand, and a last one that gathers; it "
            "goes with neither --restart nor --gather. To start over, give another --out."
        )


def device_of(name: str) -> torch.device:
    """What `--device` names, "auto" for CUDA if there is one; raises `UsageError` if it is not here."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UsageError(f"--device {name}: {error}") from None
    if device.type not in ("cpu", "cuda"):
        raise UsageError(f"--device {name}: lnbook computes on cpu or cuda, not on {device.type}.")
    if device.type == "cuda" and (found := torch.cuda.device_count()) <= (device.index or 0):
        raise UsageError(f"--device {name}: torch finds {found or 'no'} CUDA here; give --device cpu.")
    return device


def machine(options: argparse.Namespace) -> Machine:
    """Where to compute and at which precision; raises `UsageError` if that is impossible here."""
    device = device_of(options.device)
    if options.autocast and options.dtype != "float32":
        raise UsageError("--autocast computes in fewer bits than float32; it goes with --dtype float32.")
    if options.threads < 1 or (options.processes is not None and options.processes < 1):
        raise UsageError(
            f"--threads and --processes must be at least 1; got {options.threads} and {options.processes}."
        )
    if not options.every >= 0:
        raise UsageError(f"--every is a time in seconds, from 0; got {options.every}.")
    return Machine(device, TYPES[options.dtype], TYPES.get(options.autocast or ""))


def chosen(jobs: Sequence[Job], only: Sequence[str], index: int | None = None) -> list[Job]:
    """The jobs that have all these settings or, if an index is given, that one of them.

    Raises `UsageError` if there is none.

    >>> chosen([{"norm": "layer", "seed": 0}, {"norm": "batch", "seed": 0}], ["norm=batch"])
    [{'norm': 'batch', 'seed': 0}]
    """
    left = list(jobs)
    for condition in only:
        key, equals, value = condition.partition("=")
        known = sorted({str(job[key]) for job in jobs if key in job})
        if not equals or value not in known:
            raise UsageError(
                f"--only {condition!r} fits no run; write KEY=VALUE with KEY one of {list(jobs[0])}"
                + (f" and VALUE one of {known}." if known else ".")
            )
        left = [job for job in left if str(job[key]) == value]
    if not left:
        raise UsageError(f"No run has all of {list(only)}.")
    if index is None:
        return left
    if not 0 <= index < len(left):
        raise UsageError(f"--job is {index}, but the {len(left)} runs are numbered from 0; see --list.")
    return [left[index]]

"""Run all notebooks of a build: several at a time, saying how far it is; a page that fails stops no other.

First the pages that do with their share of the cores, longest first; then, one by one, those whose metadata
say `"cores": "all"`.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import nbformat

import execute
from execute import Executed, failed_copy, kept_folder

Say = Callable[[str], None]
UNKNOWN_SECONDS = 20.0  # of a page that nobody has timed


def executed_all(paths: Iterable[Path], scale: str, *, rows: Path, say: Say) -> dict[str, Executed]:
    """`executed` for all notebooks of a build, each in a process of its own.

    Args:
        paths: of the notebooks.
        scale: one of `execute.SCALES`.
        rows: the folder that receives what each page measured, and nothing of an earlier build.
        say: takes a line that tells how far it is.

    Returns:
        By the name of the page; `failure` says what went wrong with one, the others have run all the same.
    """
    kept = {path: kept_folder(path, scale) for path in paths}
    runs = {path: Executed(folder / path.name, folder / "results", False) for path, folder in kept.items()}
    left = {path: usual_seconds(path, scale, rows) for path, folder in kept.items() if not folder.is_dir()}
    todo = sorted(left, key=lambda path: -left[path])
    wide = [path for path in todo if nbformat.read(path, 4).metadata.get("lnlib", {}).get("cores") == "all"]
    narrow = [path for path in todo if path not in wide]
    cores = os.cpu_count() or 1
    workers = max(1, min(len(narrow), cores))
    total, began, lock = sum(left.values()), time.perf_counter(), Lock()

    def run(path: Path, threads: int) -> None:
        started = time.perf_counter()
        say(f"{path.stem} starts")
        runs[path] = _in_own_process(path, scale, threads)
        with lock:
            del left[path]
            failure = runs[path].failure
            how = f"FAILED: {failure}" if failure else f"ran {time.perf_counter() - started:.0f} s"
            done, share = f"{len(todo) - len(left)} of {len(todo)} pages done", sum(left.values()) / total
            minutes = (time.perf_counter() - began) / 60 * share / (1 - share)  # by the pace so far
            say(f"{path.stem} {how}; {done}" + (f", about {minutes:.0f} min left" if left else ""))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda path: run(path, max(1, cores // workers)), narrow))
    for path in wide:
        run(path, cores)
    publish_rows(runs.values(), rows / scale)
    return {path.stem: run for path, run in runs.items()}


def publish_rows(runs: Iterable[Executed], folder: Path) -> None:
    """Put the rows of these runs, and no others, into a folder; a failed page has none."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for run in runs:
        if not run.failure:
            shutil.copytree(run.results, folder.parent, dirs_exist_ok=True)


def usual_seconds(path: Path, scale: str, rows: Path) -> float:
    """How long a page took in the last build at this scale, else when it was recorded."""
    for results in (rows, path.parent / "results"):
        if (file := results / scale / f"{path.stem}.json").is_file():
            return float(json.loads(file.read_text("utf-8"))["seconds"])
    return UNKNOWN_SECONDS


def _in_own_process(path: Path, scale: str, threads: int) -> Executed:
    copy = failed_copy(path, scale)
    shutil.rmtree(copy.parent, ignore_errors=True)
    done = subprocess.run(
        _command(["--scale", scale, str(path)]),
        capture_output=True,
        text=True,
        # its share of the cores, for torch's threads and for the processes of `lnbook.training.sweep`
        env=os.environ | {"OMP_NUM_THREADS": str(threads), "LNLIB_CORES": str(threads)},
        check=False,
    )
    if not done.returncode:
        ran = Path(done.stdout.splitlines()[-1]).resolve()  # its key may not be what it was when it began
        return Executed(ran, ran.parent / "results", True)
    told = copy.with_suffix(".txt")
    failure = told.read_text("utf-8").strip() if told.is_file() else done.stderr.strip()[-2000:]
    return Executed(copy if copy.is_file() else path, copy.parent / "results", True, failure or "killed")


def _command(arguments: list[str]) -> list[str]:
    return [sys.executable, execute.__file__, *arguments]

"""Run all notebooks of a build: several at a time, saying how far it is; a page that fails stops no other.

First the pages that do with their share of the cores, longest first; then, one by one, those whose metadata
say `"cores": "all"`.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

import nbformat

from digest import BOOK
from execute import BUILD, Executed, executed, kept_folder


def executed_all(
    paths: Iterable[Path], scale: str, say: Callable[[str], None], build: Path = BUILD
) -> dict[str, Executed]:
    """`executed` for all notebooks of a build, by the name of the page; `say` takes a line on how far it is.

    The folder `results` of the build receives what each page measured, and nothing of an earlier build.
    """
    kept = {path: kept_folder(path, scale, build) for path in paths}
    left = [path for path, folder in kept.items() if not folder.is_dir()]
    runs = {
        path.stem: Executed(folder / path.name, folder / "results", False)
        for path, folder in kept.items()
        if path not in left
    }
    wide = [path for path in left if nbformat.read(path, 4).metadata.get("lnlib", {}).get("cores") == "all"]
    narrow = sorted((path for path in left if path not in wide), key=recorded_seconds, reverse=True)
    cores = os.cpu_count() or 1
    workers = max(1, min(len(narrow), cores))
    ends = 0

    def end(path: Path, future: Future[Executed]) -> None:
        nonlocal ends
        ends += 1
        error = future.exception()  # of the process, which may be killed
        run = Executed(path, path.parent, True, f"killed: {error}") if error else future.result()
        runs[path.stem] = run
        how = f"FAILED: {run.failure}" if run.failure else "ran"
        say(f"{path.stem} {how}; {ends} of {len(left)} pages done")

    if left:
        say(f"{len(left)} pages to run, {workers} at a time")
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        started = {pool.submit(executed, path, scale, build, cores // workers): path for path in narrow}
        for future in as_completed(started):
            end(started[future], future)
        for path in wide:
            future = pool.submit(executed, path, scale, build, cores)
            end(path, future)
    rows = build / "results"
    shutil.rmtree(rows / scale, ignore_errors=True)
    (rows / scale).mkdir(parents=True)
    for run in runs.values():
        if not run.failure:
            shutil.copytree(run.results, rows, dirs_exist_ok=True)
    return runs


def recorded_seconds(path: Path) -> float:
    """How long a page took when it was recorded."""
    file = BOOK / "results" / "book" / f"{path.stem}.json"
    return float(json.loads(file.read_text("utf-8"))["seconds"]) if file.is_file() else 0.0

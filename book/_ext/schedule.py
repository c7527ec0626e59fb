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
from collections.abc import Callable, Iterable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from threading import Lock

import nbformat

import execute
from execute import Executed, failed_copy, kept_folder

Say = Callable[[str], None]
UNKNOWN_SECONDS = 20.0  # of a page that nobody has timed, until the pages of this build tell better


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
    paths = list(paths)
    facts = {path: nbformat.read(path, 4).metadata.get("lnlib", {}) for path in paths}
    wide = [path for path in paths if facts[path].get("cores") == "all"]
    narrow = [path for path in paths if path not in wide]
    cores = os.cpu_count() or 1
    workers = max(1, min(len(narrow), cores))
    expected = {path.stem: expected_seconds(path, scale) for path in paths}
    progress = Progress(expected, workers, say, alone={path.stem for path in wide})
    done: dict[Path, Executed] = {}

    def run(path: Path, threads: int) -> None:
        done[path] = _in_own_process(path, scale, threads, progress)

    narrow.sort(key=lambda path: -progress.expected[path.stem])
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda path: run(path, max(1, cores // workers)), narrow))
    for path in wide:
        run(path, cores)
    publish_rows(done.values(), rows / scale)
    return {path.stem: done[path] for path in paths}


def publish_rows(runs: Iterable[Executed], folder: Path) -> None:
    """Put the rows of these runs, and no others, into a folder; a failed page has none."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for run in runs:
        if not run.failure:
            shutil.copytree(run.results, folder.parent, dirs_exist_ok=True)


def expected_seconds(path: Path, scale: str) -> float | None:
    """How long a page took when it last ran at this scale, here or, at book scale, when it was recorded."""
    copies = (execute.CACHE / scale / path.stem).glob(f"*/{path.name}")
    for copy in sorted(copies, key=lambda f: f.stat().st_mtime, reverse=True):
        if not copy.parent.suffix:  # that of a killed run has one
            return float(nbformat.read(copy, 4).metadata.lnlib.run.seconds)
    recorded = path.parent / "results" / scale / f"{path.stem}.json"
    return float(json.loads(recorded.read_text("utf-8"))["seconds"]) if recorded.is_file() else None


class Progress:
    """How far a build is, in lines that a reader at a terminal follows."""

    def __init__(
        self, expected: Mapping[str, float | None], workers: int, say: Say, alone: Set[str] = frozenset()
    ) -> None:
        known = [seconds for seconds in expected.values() if seconds is not None]
        guess = median(known) if known else UNKNOWN_SECONDS
        self.expected = {page: guess if s is None else s for page, s in expected.items()}
        self.workers, self.say, self.alone = workers, say, alone
        self.took: dict[str, float] = {}
        self.running: dict[str, float] = {}  # page: when it began
        self._lock = Lock()

    def kept(self, page: str) -> None:
        """A page need not run: nothing that it depends on has changed."""
        with self._lock:
            del self.expected[page]

    def begin(self, page: str) -> None:
        """A page starts to run."""
        with self._lock:
            self.running[page] = time.perf_counter()
            self.say(f"{page} starts" + ("" if self.took else f"; {self._where()}"))

    def end(self, page: str, failure: str = "") -> None:
        """A page has run, or failed."""
        with self._lock:
            self.took[page] = time.perf_counter() - self.running.pop(page)
            how = (
                f"FAILED after {self.took[page]:.0f} s: {failure}"
                if failure
                else f"ran {self.took[page]:.0f} s"
            )
            self.say(f"{page} {how}; {self._where()}")

    def seconds_left(self) -> float:
        """What is left by the pages' usual times, as much slower or faster as this build has been so far."""
        known = sum(self.expected[page] for page in self.took)
        pace = sum(self.took.values()) / known if known else 1.0
        now = time.perf_counter()
        left = 0.0
        for page, seconds in self.expected.items():
            share = 1 if page in self.alone else self.workers
            if page in self.running:
                left += max(0.0, pace * seconds - (now - self.running[page])) / share
            elif page not in self.took:
                left += pace * seconds / share
        return left

    def _where(self) -> str:
        done = f"{len(self.took)} of {len(self.expected)} pages done"
        if len(self.took) == len(self.expected):
            return done
        left = self.seconds_left()
        about = f"{left / 60:.0f} min" if left >= 90 else f"{max(left, 1):.0f} s"
        running = f", running {', '.join(self.running)}" if self.running else ""
        return f"{done}{running}, about {about} left"


def _why(done: subprocess.CompletedProcess[str], told: Path) -> str:
    """What the run said of its failure, else the last that its process wrote."""
    if told.is_file():
        return told.read_text("utf-8").strip()
    return f"its process ended with status {done.returncode}. {done.stderr.strip()[-2000:]}".strip()


def _command(arguments: list[str]) -> list[str]:
    return [sys.executable, execute.__file__, *arguments]


def _in_own_process(path: Path, scale: str, threads: int, progress: Progress) -> Executed:
    kept = kept_folder(path, scale)
    if kept.is_dir():
        progress.kept(path.stem)
        return Executed(kept / path.name, kept / "results", False)
    shutil.rmtree(failed_copy(path, scale).parent, ignore_errors=True)
    progress.begin(path.stem)
    arguments = ["--scale", scale, str(path)]
    done = subprocess.run(
        _command(arguments),
        capture_output=True,
        text=True,
        # its share of the cores, for torch's threads and for the processes of `lnbook.training.sweep`
        env=os.environ | {"OMP_NUM_THREADS": str(threads), "LNLIB_CORES": str(threads)},
        check=False,
    )
    copy = failed_copy(path, scale)
    failure = _why(done, copy.with_suffix(".txt")) if done.returncode else ""
    progress.end(path.stem, failure)
    if failure:
        return Executed(copy if copy.is_file() else path, copy.parent / "results", True, failure)
    ran = Path(done.stdout.splitlines()[-1]).resolve()  # its key may not be what it was when it began
    return Executed(ran, ran.parent / "results", True)

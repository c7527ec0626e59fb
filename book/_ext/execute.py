"""Run notebooks at a scale, each in a fresh kernel; a copy is kept under the key of what it depends on.

Used by the build (all notebooks, several at a time), by the tests and from a shell:
`python book/_ext/execute.py --scale smoke book/sec2_background.ipynb`.
"""

import argparse
import datetime
import json
import os
import re
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import matplotlib.font_manager  # noqa: F401 - where the home cannot be written it makes a folder, for kernels, too
import nbformat
import papermill
from filelock import FileLock
from jupyter_client import AsyncKernelManager
from papermill.exceptions import PapermillExecutionError
from traitlets import default

from digest import BOOK, ROOT, notebook_key
from lnbook.data import DataError, data_set, fetch, resolve_environment, verify
from lnbook.ledger.provenance import provenance

BUILD = ROOT / "_build"
SCALES = ("smoke", "book", "study")
SEEDS = {"smoke": 0, "book": 0, "study": 1000}  # the first one; a study is independent of the book's runs
# Against a cell that hangs, so that a slow machine never meets them: a page takes a minute at book scale.
CELL_SECONDS = {"smoke": 900, "book": 3600, "study": 7 * 24 * 3600}


class Executed(NamedTuple):
    """An executed copy, the folder of what the run measured, whether this call ran it, and what failed.

    The copy of a failed run ends where it failed; its folder of results is not to be read.
    """

    notebook: Path
    results: Path
    fresh: bool
    failure: str = ""


def made_ready(paths: Sequence[Path], scale: str, say: Callable[[str], object]) -> None:
    """Check the data that these pages name and download what is not there; no page uses the network.

    Raises `DataError` for a damaged file and a folder that is none; `say` takes what a reader should know.
    """
    resolve_environment()
    for name in dict.fromkeys(name for path in paths for name in facts(path).get("data", [])):
        source = verify(name)
        if source == "absent" and scale != "smoke" and not data_set(name).consent:
            try:
                fetch(name)
                continue
            except DataError as error:
                say(f"data: {name}: {error}")
        if source == "absent":
            say(f"data: {name} is not there; what stands in for it: {data_set(name).stand_in}")
    os.environ["LNLIB_OFFLINE"] = "1"


def facts(path: Path) -> Mapping[str, Any]:
    """What the metadata of a notebook say of it as a page."""
    return nbformat.read(path, 4).metadata.get("lnlib", {})


def executed_all(
    paths: Sequence[Path], scale: str, say: Callable[[str], object], build: Path = BUILD
) -> dict[str, Executed]:
    """`executed` for all notebooks of a build, by the name of the page; `say` takes a line on how far it is.

    First those that do with their share of the cores, longest first; then, one by one, those whose metadata
    say `"cores": "all"`. A page that fails stops no other. The folder `results` of the build receives what
    each page measured, and nothing of an earlier build.
    """
    runs: dict[str, Executed] = {}
    cores = os.cpu_count() or 1
    wide = [path for path in paths if facts(path).get("cores") == "all"]
    narrow = sorted((path for path in paths if path not in wide), key=recorded_seconds, reverse=True)
    for some, workers in ((narrow, cores), (wide, 1)):
        with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
            threads = cores // workers
            for future in as_completed(pool.submit(executed, path, scale, build, threads) for path in some):
                run = future.result()
                runs[run.notebook.stem] = run
                how = f"FAILED: {run.failure}" if run.failure else "ran" if run.fresh else "has not changed"
                say(f"{run.notebook.stem} {how}; {len(runs)} of {len(paths)} pages done")
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


def executed(path: Path, scale: str, build: Path = BUILD, threads: int | None = None) -> Executed:
    """The executed copy of a notebook: the kept one if nothing it depends on changed, else a run.

    Of several processes that ask for the same page one runs it and the others wait. A cell that raises,
    writes to stderr or draws two figures fails the run, and so does a change of what the page depends on.
    `threads`: of torch, and processes of `lnbook.training.sweep`.
    """
    folder = kept_folder(path, scale, build)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(".lock")):
        if folder.is_dir():
            return Executed(folder / path.name, folder / "results", False)
        return _run(path, scale, build, threads)


def kept_folder(path: Path, scale: str, build: Path = BUILD) -> Path:
    """Where the executed copy is kept, under the key of all that it depends on."""
    return build / "executed" / scale / path.stem / notebook_key(path, scale)[:20]


def _run(path: Path, scale: str, build: Path, threads: int | None) -> Executed:
    folder = kept_folder(path, scale, build)
    running = folder.with_name("running")
    shutil.rmtree(running, ignore_errors=True)  # of a killed run: the lock is ours
    (running / "results").mkdir(parents=True)
    copy, started = running / path.name, time.perf_counter()
    parameters = {"scale": scale, "seed": SEEDS[scale]}
    share = {"OMP_NUM_THREADS": str(threads), "LNLIB_CORES": str(threads)} if threads else {}
    failure = _papermill(path, parameters, copy, share | {"LNLIB_RESULTS": str(running / "results")})
    if not failure and kept_folder(path, scale, build) != folder:
        failure = f"{path.name}: what it depends on changed while it ran; run it again"
    finish(copy if copy.is_file() else path, copy, parameters, time.perf_counter() - started)
    place = build / "failed" / scale / path.stem if failure else folder
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    running.rename(place)
    return Executed(place / path.name, place / "results", True, failure)


class _Kernel(AsyncKernelManager):
    """A kernel spoken to over no network."""

    transport = "ipc"

    @default("ip")
    def _sockets(self) -> str:
        return f"/tmp/lnlib-{uuid.uuid4().hex[:12]}"  # TMPDIR may be too long for a socket


def _papermill(path: Path, parameters: Mapping[str, Any], copy: Path, environment: Mapping[str, str]) -> str:
    """Execute into `copy`, which ends at the cell that failed; the answer says how it failed, if it did."""
    at = f"{path.name} at {parameters['scale']} scale"
    with tempfile.TemporaryDirectory() as ipython:  # for IPython: nothing that the user has set
        try:
            with patch.dict(os.environ, {**environment, "IPYTHONDIR": ipython}):
                papermill.execute_notebook(
                    str(path),
                    str(copy),
                    parameters=parameters,
                    kernel_name="python3",
                    kernel_manager_class=_Kernel,
                    cwd=str(BOOK),
                    progress_bar=False,
                    request_save_on_cell_execute=False,  # a quarter of the time of a page with many cells
                    execution_timeout=CELL_SECONDS[parameters["scale"]],
                )
        except PapermillExecutionError as error:
            return f"{at}, {_first_line(error.source)}: {error.ename}: {error.evalue}"
        except Exception as error:  # the kernel died, a cell hung, the notebook cannot be read
            return f"{at}: {type(error).__name__}: {error}"
    for cell in nbformat.read(copy, 4).cells:
        if said := "".join(o.text for o in cell.get("outputs", []) if o.get("name") == "stderr"):
            return f"{at}, {_first_line(cell.source)}: wrote to stderr, which no page may show:\n{said}"
    return ""


def _first_line(source: str) -> str:
    """How a message names a cell."""
    return f"the cell {source.strip().partition(chr(10))[0]!r}"


def finish(ran: Path, copy: Path, parameters: Mapping[str, object], seconds: float) -> None:
    """Make a page of what papermill wrote: its parameters in place, how it came about."""
    notebook = nbformat.read(ran, as_version=4)
    _merge_parameters(notebook, parameters)
    facts = provenance(scale=parameters["scale"], seconds=round(seconds, 1))
    facts["executed"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    notebook.metadata.setdefault("lnlib", {})["run"] = facts
    notebook.metadata.pop("papermill", None)
    nbformat.write(notebook, copy)


def _merge_parameters(notebook: nbformat.NotebookNode, values: Mapping[str, object]) -> None:
    """Show the values that ran in the parameters cell itself, instead of in a second, injected one."""
    papermills = re.compile("injected-parameters|papermill-error.*")
    notebook.cells = [cell for cell in notebook.cells if not any(map(papermills.fullmatch, _tags(cell)))]
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
        if "parameters" in _tags(cell):
            for name, value in values.items():
                given = f"{name} = {json.dumps(value)}"
                cell.source = re.sub(rf"^{name} = [^\s#]+", given, cell.source, flags=re.MULTILINE)


def _tags(cell: nbformat.NotebookNode) -> list[str]:
    return cell.metadata.get("tags", [])


def main() -> None:
    """Execute the named notebooks one after the other and print where the executed copies are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--scale", choices=SCALES, default="smoke")
    arguments = parser.parse_args()
    try:
        made_ready(arguments.notebooks, arguments.scale, partial(print, file=sys.stderr))
    except DataError as error:
        raise SystemExit(str(error)) from None
    for path in arguments.notebooks:
        run = executed(path.resolve(), arguments.scale)
        if run.failure:
            raise SystemExit(run.failure)
        print(os.path.relpath(run.notebook))


if __name__ == "__main__":
    main()

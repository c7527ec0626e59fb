"""Run a notebook at a scale in a fresh kernel, and keep the copy under the key of what it depends on.

Used by the build (all notebooks, see schedule.py), by the tests and from a shell:
`python book/_ext/execute.py --scale smoke book/sec2_background.ipynb`.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.font_manager  # noqa: F401 - where the home cannot be written it makes a folder, for kernels, too
import nbformat
import papermill
from filelock import FileLock
from ipykernel.kernelspec import make_ipkernel_cmd
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec
from papermill.exceptions import PapermillExecutionError
from traitlets import default

from digest import BOOK, ROOT, notebook_key
from finish import figures, finish, injected
from lnbook.data import DataError, resolve_environment
from preflight import fetch_absent

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


def _kernel(environment: Mapping[str, str]) -> type[AsyncKernelManager]:
    """A kernel of this interpreter, whatever the user's Jupyter calls so, spoken to over no network."""

    class Kernel(AsyncKernelManager):
        transport = "ipc"

        @default("ip")
        def _sockets(self) -> str:
            return f"/tmp/lnlib-{uuid.uuid4().hex[:12]}"  # TMPDIR may be too long for a socket

        @property
        def kernel_spec(self) -> KernelSpec:
            command = make_ipkernel_cmd()
            return KernelSpec(argv=command, display_name="Python 3", language="python", env=dict(environment))

    return Kernel


def _papermill(path: Path, parameters: Mapping[str, Any], copy: Path, environment: Mapping[str, str]) -> str:
    """Execute into `copy`, which ends at the cell that failed; the answer says how it failed, if it did."""
    at = f"{path.name} at {parameters['scale']} scale"
    try:
        with tempfile.TemporaryDirectory() as ipython:  # for IPython: nothing that the user has set
            papermill.execute_notebook(
                str(path),
                str(copy),
                parameters=parameters,
                kernel_name="python3",
                kernel_manager_class=_kernel({**environment, "IPYTHONDIR": ipython}),
                cwd=str(BOOK),
                progress_bar=False,
                request_save_on_cell_execute=False,  # a quarter of the time of a page with many cells
                execution_timeout=CELL_SECONDS[parameters["scale"]],
            )
    except PapermillExecutionError as error:
        where = _named_cell(copy, lambda cell: any(o.output_type == "error" for o in cell.outputs))
        return f"{at}, {where}: {error.ename}: {error.evalue}"
    except Exception as error:  # the kernel died, a cell hung, the notebook cannot be read
        return f"{at}: {type(error).__name__}: {error}"
    if where := _named_cell(copy, lambda cell: bool(_stderr(cell))):
        said = "".join(_stderr(cell) for cell in nbformat.read(copy, 4).cells)
        return f"{at}, {where}: wrote to stderr, which no page may show:\n{said}"
    if where := _named_cell(copy, lambda cell: len(figures(cell)) > 1):
        return f"{at}, {where}: shows several figures; give each a cell of its own"
    return ""


def _named_cell(copy: Path, wanted: Callable[[nbformat.NotebookNode], bool]) -> str:
    """The first code cell that answers, by its number and first line as a reader finds it; else nothing."""
    cells = [c for c in nbformat.read(copy, 4).cells if c.cell_type == "code" and not injected(c)]
    for number, cell in enumerate(cells, 1):
        if wanted(cell):
            return f"code cell {number} ({cell.source.strip().partition(chr(10))[0]!r})"
    return ""


def _stderr(cell: nbformat.NotebookNode) -> str:
    streams = [o for o in cell.get("outputs", []) if o.output_type == "stream"]
    return "".join(o.text for o in streams if o.name == "stderr")


def main() -> None:
    """Execute the named notebooks one after the other and print where the executed copies are."""
    resolve_environment()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--scale", choices=SCALES, default="smoke")
    arguments = parser.parse_args()
    try:
        fetch_absent(arguments.notebooks, arguments.scale, partial(print, file=sys.stderr))
    except DataError as error:
        raise SystemExit(str(error)) from None
    for path in arguments.notebooks:
        if arguments.scale == "study" and path.stem.startswith("sec6_"):
            section = ".".join(path.stem.removeprefix("sec").split("_")[:2])
            raise SystemExit(f"A study of {path.stem} is `python -m lnbook run {section} --scale study`.")
        run = executed(path.resolve(), arguments.scale)
        if run.failure:
            raise SystemExit(run.failure)
        print(os.path.relpath(run.notebook))


if __name__ == "__main__":
    main()

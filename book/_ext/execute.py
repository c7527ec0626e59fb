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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.font_manager  # noqa: F401 - where the home cannot be written it makes a folder, for kernels, too
import nbformat
import papermill
from filelock import FileLock
from ipykernel.kernelspec import make_ipkernel_cmd
from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpec
from papermill.engines import NBClientEngine, NotebookExecutionManager, papermill_engines
from papermill.exceptions import PapermillExecutionError
from traitlets import default

from digest import BOOK, ROOT, differences, made_of, notebook_key
from finish import figures, finish, injected
from lnbook.data import DataError, resolve_environment
from preflight import fetch_absent

CACHE = ROOT / "_build" / "executed"
FAILED = ROOT / "_build" / "failed"  # the last failed run of each page, as far as it came
SCALES = ("smoke", "book", "study")
SEEDS = {"smoke": 0, "book": 0, "study": 1000}  # the first one; a study is independent of the book's runs
# Against a cell that hangs, so that a slow machine never meets them: a page takes a minute at book scale.
CELL_SECONDS = {"smoke": 900, "book": 3600, "study": 7 * 24 * 3600}
SOCKET_FOLDER = 80  # bytes of its path: that of a socket ends at 103
BETWEEN_COPIES = 30  # seconds: who follows a run of hours finds its outputs in the copy


class _Engine(NBClientEngine):
    """papermill's engine, which writes the copy now and then, and at the end whatever happens.

    Its own writes all of the copy before and after each cell: a quarter of the time of a page with many.
    """

    @classmethod
    def execute_managed_notebook(cls, nb_man: NotebookExecutionManager, *args: Any, **options: Any) -> None:
        save, saved = nb_man.save, time.monotonic()

        def now_and_then(**_: Any) -> None:
            nonlocal saved
            if time.monotonic() > saved + BETWEEN_COPIES:
                save()
                saved = time.monotonic()

        nb_man.save = now_and_then
        try:
            super().execute_managed_notebook(nb_man, *args, **options)
        finally:
            nb_man.save = save
            save()


papermill_engines.register("lnlib", _Engine)


class _Kernel(AsyncKernelManager):
    """A kernel of this interpreter, whatever the user's Jupyter has under that name.

    It is spoken to over sockets of this user, where there are any, and not over a network.
    """

    transport = "tcp" if sys.platform == "win32" else "ipc"

    @default("ip")
    def _own_sockets(self) -> str:
        if self.transport == "tcp":
            return "127.0.0.1"
        folder = tempfile.gettempdir()
        short = folder if len(os.fsencode(folder)) <= SOCKET_FOLDER else "/tmp"
        return str(Path(short, f"lnlib-{uuid.uuid4().hex[:12]}"))  # sockets begin with it

    @property
    def kernel_spec(self) -> KernelSpec:
        return KernelSpec(argv=make_ipkernel_cmd(), display_name="Python 3", language="python")


class NotebookFailed(RuntimeError):
    """A notebook raised, wrote to stderr, or was given a parameter it does not have."""


class Executed(NamedTuple):
    """An executed copy, the folder of what the run measured, whether this call ran it, and what failed.

    The copy of a failed run ends where it failed; its folder of results is not to be read.
    """

    notebook: Path
    results: Path
    fresh: bool
    failure: str = ""


def executed(path: Path, scale: str) -> Executed:
    """The executed copy of a notebook: the kept one if nothing it depends on changed, else a run.

    Of several processes that ask for the same copy one runs the notebook and the others wait for it.

    Args:
        path: of the notebook.
        scale: one of `SCALES`.

    Raises:
        NotebookFailed: with the cell and what it raised. `failed_copy` then has the run as far as it came.
    """
    folder = kept_folder(path, scale)
    target = folder / path.name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_suffix(".lock")):
        if fresh := not folder.is_dir():
            _run(path, scale, folder)
    return Executed(target, folder / "results", fresh)


def kept_folder(path: Path, scale: str) -> Path:
    """Where the executed copy is kept, under the key of all that it depends on."""
    return CACHE / scale / path.stem / notebook_key(path, scale)[:20]


def failed_copy(path: Path, scale: str) -> Path:
    """Where a failed run leaves the notebook, with the outputs of the cells that ran; `.txt` says why."""
    return FAILED / scale / path.stem / path.name


def _run(path: Path, scale: str, folder: Path) -> None:
    for killed in folder.parent.glob(f"{folder.name}.*/"):  # the lock is ours, so nobody works there
        shutil.rmtree(killed, ignore_errors=True)
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    (partial / "results").mkdir(parents=True)
    copy, started, before = partial / path.name, time.perf_counter(), made_of(path, scale)
    try:
        # an empty folder for IPython: no configuration and no startup file of the user's
        with (
            tempfile.TemporaryDirectory() as ipython,
            _environment({"LNLIB_RESULTS": str(partial / "results"), "IPYTHONDIR": ipython}),
        ):
            _papermill(path, scale, copy)
        if changed := differences(before, made_of(path, scale)):
            raise NotebookFailed(
                f"{path.name} at {scale} scale: {'; '.join(changed)} while it ran, so that nobody knows what "
                f"it was made from; run it again"
            )
        place, failure = folder, None
    except NotebookFailed as error:
        place, failure = failed_copy(path, scale).parent, error
    finish(copy if copy.is_file() else path, copy, scale, time.perf_counter() - started)
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    if failure:
        copy.with_suffix(".txt").write_text(str(failure), encoding="utf-8")
    partial.rename(place)
    if failure:
        raise failure


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables, which the kernel inherits, and put back what was there."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({name: value} if value is not None else {})


def _papermill(path: Path, scale: str, copy: Path) -> None:
    """Execute into `copy`, which has the outputs so far where this raises `NotebookFailed`."""
    parameters = {"scale": scale, "seed": SEEDS[scale]}
    if unknown := set(parameters) - set(papermill.inspect_notebook(str(path))):
        raise NotebookFailed(
            f"{path.name} has no parameters {sorted(unknown)}; give it a cell tagged 'parameters'"
        )
    try:
        papermill.execute_notebook(
            str(path),
            str(copy),
            parameters=parameters,
            kernel_name="python3",
            engine_name="lnlib",
            kernel_manager_class=_Kernel,
            cwd=str(BOOK),
            progress_bar=False,
            execution_timeout=CELL_SECONDS[scale],
        )
    except PapermillExecutionError as error:
        where = _named_cell(copy, lambda cell: any(o.output_type == "error" for o in cell.outputs))
        said = f"{error.ename}: {error.evalue}"
        raise NotebookFailed(f"{path.name} at {scale} scale, {where}: {said}") from error
    except Exception as error:  # the kernel died, a cell hung, the notebook cannot be read
        raise NotebookFailed(f"{path.name} at {scale} scale: {type(error).__name__}: {error}") from error
    if where := _named_cell(copy, lambda cell: bool(_stderr(cell))):
        said = "".join(_stderr(cell) for cell in nbformat.read(copy, 4).cells)
        raise NotebookFailed(
            f"{path.name} at {scale} scale, {where}: wrote to stderr, which no page may show:\n{said}"
        )
    if where := _named_cell(copy, lambda cell: len(figures(cell)) > 1):
        raise NotebookFailed(f"{path.name}, {where}: shows several figures; give each a cell of its own")


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
        fetch_absent(arguments.notebooks, arguments.scale, _tell)
    except DataError as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:
        raise SystemExit("interrupted while data were fetched; no part of a file is kept") from None
    for path in arguments.notebooks:
        if arguments.scale == "study" and path.stem.startswith("sec6_"):
            section = ".".join(path.stem.removeprefix("sec").split("_")[:2])
            raise SystemExit(f"A study of {path.stem} is `python -m lnbook run {section} --scale study`.")
        try:
            result = executed(path.resolve(), arguments.scale)
        except NotebookFailed as error:
            raise SystemExit(str(error)) from None
        print(os.path.relpath(result.notebook))


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    main()

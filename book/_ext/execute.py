"""Run a notebook at a scale in a fresh kernel, and keep the copy under the key of what it depends on.

Used by the build (all notebooks in parallel), by the tests and from a shell:
`python book/_ext/execute.py --scale smoke book/sec2_background.ipynb`.
"""

import argparse
import datetime
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import nbformat
import papermill

from digest import BOOK, ROOT, notebook_key
from lnlib.provenance import provenance

CACHE = ROOT / "_build" / "executed"
SCALES = ("smoke", "book", "paper")
CELL_SECONDS = {"smoke": 120, "book": 600, "paper": 7 * 24 * 3600}


class NotebookFailed(RuntimeError):
    """A notebook raised, wrote to stderr, or was given a parameter it does not have."""


class Executed(NamedTuple):
    """An executed copy, the folder of what the run measured, and whether this call ran it."""

    notebook: Path
    results: Path
    fresh: bool


def executed(path: Path, scale: str, *, anew: bool = False) -> Executed:
    """The executed copy of a notebook: the kept one if nothing it depends on changed, else a run."""
    folder = _folder(path, scale)
    target = folder / path.name
    fresh = anew or not target.is_file()
    if fresh:
        _run(path, scale, folder)
    return Executed(target, folder / "results", fresh)


def executed_all(paths: Iterable[Path], scale: str, *, say: Callable[[str], None]) -> dict[str, Executed]:
    """`executed` for many notebooks, each in a process of its own; the first failure stops the build.

    As many at a time as there are cores; afterwards, one by one, those whose metadata say `"cores": "all"`.
    """
    paths = list(paths)
    cores = os.cpu_count() or 1
    wide = {path for path in paths if nbformat.read(path, 4).metadata.get("lnlib", {}).get("cores") == "all"}
    workers = max(1, min(len(paths) - len(wide), cores))
    with ThreadPoolExecutor(workers) as pool:
        narrow = [path for path in paths if path not in wide]
        runs = pool.map(lambda path: _in_own_process(path, scale, max(1, cores // workers), say), narrow)
        done = dict(zip(narrow, runs, strict=True))
    done |= {path: _in_own_process(path, scale, cores, say) for path in sorted(wide)}
    return {path.stem: done[path] for path in paths}


def _in_own_process(path: Path, scale: str, threads: int, say: Callable[[str], None]) -> Executed:
    if _folder(path, scale).joinpath(path.name).is_file():
        return executed(path, scale)
    say(f"executing {path.stem} at {scale} scale")
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--scale", scale, "--quiet", str(path)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": str(threads)},
        check=False,
    )
    if done.returncode:
        raise NotebookFailed(f"{path.name} failed at {scale} scale:\n{done.stderr.strip()}")
    say(f"executed {path.stem} in {time.perf_counter() - started:.0f} s")
    return executed(path, scale)._replace(fresh=True)


def _folder(path: Path, scale: str) -> Path:
    return CACHE / scale / path.stem / notebook_key(path, scale)[:20]


def _run(path: Path, scale: str, folder: Path) -> None:
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    (partial / "results").mkdir(parents=True)
    parameters = {"scale": scale, "seed": 0}
    if unknown := set(parameters) - set(papermill.inspect_notebook(str(path))):
        raise NotebookFailed(
            f"{path.name} has no parameters {sorted(unknown)}; give it a cell tagged 'parameters'"
        )
    os.environ["LNLIB_RESULTS"] = str(partial / "results")
    started = time.perf_counter()
    try:
        notebook = papermill.execute_notebook(
            str(path),
            None,
            parameters=parameters,
            kernel_name="python3",
            cwd=str(BOOK),
            progress_bar=False,
            execution_timeout=CELL_SECONDS[scale],
        )
    except Exception as error:
        shutil.rmtree(partial)
        raise NotebookFailed(f"{path.name} at {scale} scale: {error}") from error
    _refuse_stderr(path, notebook)
    _merge_parameters(notebook)
    _place_figures(path, notebook)
    facts = provenance(scale=scale, seconds=round(time.perf_counter() - started, 1))
    facts["executed"] = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    notebook.metadata.setdefault("lnlib", {})["run"] = facts
    notebook.metadata.pop("papermill", None)
    nbformat.write(notebook, partial / path.name)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def _refuse_stderr(path: Path, notebook: nbformat.NotebookNode) -> None:
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "stream" and output.name == "stderr":
                raise NotebookFailed(
                    f"{path.name}: a cell wrote to stderr, which no page may show:\n{output.text}"
                )


def _merge_parameters(notebook: nbformat.NotebookNode) -> None:
    """Show the values that ran in the parameters cell itself, instead of in a second, injected one."""
    tagged = {tag: i for i, c in enumerate(notebook.cells) for tag in c.metadata.get("tags", [])}
    injected = notebook.cells.pop(tagged["injected-parameters"])
    cell = notebook.cells[tagged["parameters"]]
    values = dict(line.split(" = ", 1) for line in injected.source.splitlines() if " = " in line)
    lines = []
    for line in cell.source.splitlines():
        name, _, rest = line.partition(" = ")
        comment = rest.partition("#")[2]
        lines.append(
            f"{name} = {values[name]}" + (f"  #{comment}" if comment else "") if name in values else line
        )
    cell.source = "\n".join(lines)
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)


def _place_figures(path: Path, notebook: nbformat.NotebookNode) -> None:
    """Hand the name, caption and alt text of `plots.figure` to MyST-NB, which reads them from the cell."""
    for cell in notebook.cells:
        notes = [o.metadata["lnlib"] for o in cell.get("outputs", []) if "lnlib" in o.get("metadata", {})]
        if len(notes) > 1:
            raise NotebookFailed(
                f"{path.name}: a cell shows {len(notes)} figures; give each a cell of its own"
            )
        if notes:
            cell.metadata["mystnb"] = cell.metadata.get("mystnb", {}) | {
                "image": {"alt": notes[0]["alt"]},
                "figure": {
                    "name": notes[0]["name"],
                    "caption": notes[0]["caption"],
                },
            }


def main() -> None:
    """Execute the named notebooks one after the other and print where the executed copies are."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("notebooks", nargs="+", type=Path)
    parser.add_argument("--scale", choices=SCALES, default="smoke")
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    for path in arguments.notebooks:
        try:
            result = executed(path.resolve(), arguments.scale)
        except NotebookFailed as error:
            raise SystemExit(str(error)) from None
        if not arguments.quiet:
            print(os.path.relpath(result.notebook))


if __name__ == "__main__":
    main()

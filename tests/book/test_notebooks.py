"""Every notebook runs through papermill in a fresh kernel at smoke scale, and is written as agreed."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from execute import NotebookFailed, executed  # noqa: E402

NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
# Pages that are looked things up in, not read through, say so in their metadata, {"lnlib": {"kind": ...}}:
# they judge no claim and set no exercise. Everything else is asked of them as of a chapter.
LOOKED_UP = {"reference", "gallery"}


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def is_chapter(path: Path) -> bool:
    """Whether a page makes an argument, with claims and exercises; a kind that nobody knows is an error."""
    kind = read(path).metadata.get("lnlib", {}).get("kind", "chapter")
    assert kind in LOOKED_UP | {"chapter"}, f"{path.name} is of kind {kind!r}; use one of {sorted(LOOKED_UP)}"
    return kind == "chapter"


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [c for c in read(path).cells if c.cell_type == "code"]


@pytest.fixture
def one_core(pytestconfig) -> Iterator[None]:
    """Without --slow a page starts no process for each core: to import costs more than its small runs."""
    if pytestconfig.getoption("--slow") or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    os.sched_setaffinity(0, {sorted(before)[worker % len(before)]})
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.notebook
@pytest.mark.usefixtures("one_core")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs_at_smoke_scale_in_a_fresh_kernel(path, record_property, monkeypatch):
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    run = executed(path, "smoke")  # kept, if nothing that it depends on has changed since it ran
    notebook = read(run.notebook)
    record_property("seconds", notebook.metadata.lnlib.run.seconds)
    assert all(c.execution_count for c in notebook.cells if c.cell_type == "code" and c.source.strip())
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", []))
    glued = Counter(
        o["metadata"]["scrapbook"]["name"] for o in outputs if "scrapbook" in o.get("metadata", {})
    )
    assert not glued or max(glued.values()) == 1, f"two numbers have one name: {glued.most_common(1)}"
    kept = run.results / "smoke" / f"{path.stem}.csv"
    assert kept.is_file() or not is_chapter(path), f"{path.stem} never called ledger.show()"


def toy(folder: Path, source: str, parameters: str = 'scale = "smoke"\nseed = 0') -> Path:
    cells = [
        nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}),
        nbformat.v4.new_code_cell(source),
    ]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path = folder / "toy.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), path)
    return path


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 / 0", "ZeroDivisionError"),
        ("import warnings; warnings.warn('look here')", "look here"),
        ("import sys; print('not for readers', file=sys.stderr)", "not for readers"),
    ],
)
def test_a_notebook_that_raises_or_writes_to_stderr_fails(tmp_path, monkeypatch, source, message):
    monkeypatch.setattr("execute.CACHE", tmp_path / "cache")
    with pytest.raises(NotebookFailed, match=message):
        executed(toy(tmp_path, source), "smoke")
    assert not list((tmp_path / "cache").rglob("*.ipynb")), "a failed run must leave no copy behind"


def test_a_run_leaves_the_environment_as_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr("execute.CACHE", tmp_path / "cache")
    source = 'import os; os.environ["LNLIB_RESULTS"][-7:]'
    monkeypatch.setenv("LNLIB_RESULTS", "before")
    run = executed(toy(tmp_path, source), "smoke")
    assert read(run.notebook).cells[1].outputs[0].data["text/plain"] == "'results'"
    assert os.environ["LNLIB_RESULTS"] == "before"
    monkeypatch.delenv("LNLIB_RESULTS")
    executed(toy(tmp_path, f"{source}  # again"), "smoke")
    assert "LNLIB_RESULTS" not in os.environ


def test_a_parameter_that_the_notebook_does_not_have_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("execute.CACHE", tmp_path / "cache")
    with pytest.raises(NotebookFailed, match="seed"):
        executed(toy(tmp_path, "1", parameters='scale = "smoke"'), "smoke")


def test_a_run_is_kept_until_something_it_depends_on_changes(tmp_path, monkeypatch):
    monkeypatch.setattr("execute.CACHE", tmp_path / "cache")
    path = toy(tmp_path, "2 + 2")
    assert executed(path, "smoke").fresh
    assert not executed(path, "smoke").fresh
    assert executed(toy(tmp_path, "2 + 3"), "smoke").fresh


def test_the_executed_copy_shows_the_scale_that_ran(tmp_path, monkeypatch):
    monkeypatch.setattr("execute.CACHE", tmp_path / "cache")
    path = toy(tmp_path, "scale", parameters='scale = "smoke"  # or "book"\nseed = 0')
    cells = read(executed(path, "book").notebook).cells
    assert [c.source for c in cells] == ['scale = "book"  # or "book"\nseed = 0', "scale"]
    assert cells[1].outputs[0].data["text/plain"] == "'book'"


def test_a_notebook_depends_on_the_files_it_reaches_and_no_others(tmp_path):
    from digest import files_reached

    def names(source: str) -> set[str]:
        notebook = read(toy(tmp_path, source))
        return {f.relative_to(ROOT).as_posix() for f in files_reached(notebook) if f.suffix != ".css"}

    none = names("import numpy")
    assert not {n for n in none if n.startswith(("lnlib", "book/lnbook"))}
    equations = names("%time\nfrom lnlib.equations import eq3")
    package = {"lnlib/equations/__init__.py", "lnlib/equations/normalization.py"}
    assert {"lnlib/__init__.py", "lnlib/norms/normalize.py"} | package <= equations
    assert not equations & {
        "book/lnbook/figures/plots.py",
        "book/lnbook/training/loop.py",
        "book/lnbook/explore/axis_flip.py",
    }
    figure = names("from lnbook.explore.axis_flip import axis_flip")
    script, shared = "book/lnbook/explore/axis_flip.js", "book/lnbook/explore/figure.js"
    assert {"book/lnbook/explore/axis_flip.py", script, shared} <= figure
    assert not {n for n in figure if n.startswith("book/lnbook/explore/offset.")}


def test_a_notebook_depends_on_the_stored_rows_it_names_but_not_on_its_own(tmp_path, monkeypatch):
    from digest import notebook_key, stored

    monkeypatch.setattr("digest.BOOK", tmp_path)
    (tmp_path / "claims.toml").write_text("claim = []")
    for name in ("other", "toy"):
        (tmp_path / f"{name}.csv").write_text("value\n1\n")
    path = toy(tmp_path, "1")
    notebook = read(path)
    notebook.metadata["lnlib"] = {"stored": ["*.csv"]}
    nbformat.write(notebook, path)
    assert stored(notebook, "toy") == [tmp_path / "other.csv"]
    before = notebook_key(path, "smoke")
    (tmp_path / "toy.csv").write_text("value\n2\n")
    assert notebook_key(path, "smoke") == before, "what a page records must not run it anew"
    (tmp_path / "other.csv").write_text("value\n2\n")
    assert notebook_key(path, "smoke") != before


def test_a_page_is_a_chapter_unless_its_metadata_name_a_known_kind(tmp_path):
    path = toy(tmp_path, "1")
    assert is_chapter(path)
    for kind, refused in (("reference", False), ("galery", True)):
        notebook = read(path)
        notebook.metadata["lnlib"] = {"kind": kind}
        nbformat.write(notebook, path)
        with pytest.raises(AssertionError, match=r"galery.*gallery") if refused else nullcontext():
            assert not is_chapter(path)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_committed_without_outputs_and_with_unique_cell_ids(path):
    notebook = read(path)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not cell.outputs, f"{path.name}: strip the outputs (nbstripout --keep-id)"
            assert cell.execution_count is None
    ids = [c.id for c in notebook.cells]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_chapter_has_the_agreed_anatomy(path):
    notebook = read(path)
    tags = [c.metadata.get("tags", []) for c in notebook.cells]
    assert notebook.cells[0].source.startswith("# "), "the first cell is the title alone"
    assert "\n" not in notebook.cells[0].source.strip()
    assert sum("parameters" in t for t in tags) == 1
    parameters = next(c for c in notebook.cells if "parameters" in c.metadata.get("tags", []))
    assert [line.split(" = ")[0] for line in parameters.source.splitlines()] == ["scale", "seed"]
    assert parameters.source.startswith('scale = "smoke"')
    assert 'find_spec("lnbook") is None' in code_cells(path)[0].source, "make lnbook importable first"
    lengths = sorted(len(c.source.splitlines()) for c in code_cells(path))
    assert lengths[-1] <= 25
    assert lengths[len(lengths) // 2] <= 8, f"median cell length {lengths[len(lengths) // 2]}"
    for cell in code_cells(path)[1:3]:  # parameters and imports: the first screen is the subject's
        assert "hide-input" in cell.metadata.tags
    solutions = [c for c in code_cells(path) if "hide-cell" in c.metadata.get("tags", [])]
    assert 2 <= len(solutions) <= 4 or not is_chapter(path)
    for cell in solutions:
        assert cell.metadata["mystnb"]["code_prompt_show"] == "Show the solution"


def test_no_function_is_defined_twice_in_the_book():
    import ast
    from collections import Counter

    from IPython.core.inputtransformer2 import TransformerManager

    transform = TransformerManager().transform_cell
    names: Counter[str] = Counter()
    for path in NOTEBOOKS:
        for cell in code_cells(path):
            tree = ast.parse(transform(cell.source))
            names.update(n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef)))
    assert not [name for name, times in names.items() if times > 1]


@pytest.mark.notebook
def test_data_that_are_nowhere_to_be_found_leave_no_mark_on_stderr(tmp_path, monkeypatch):
    monkeypatch.setattr("execute.CACHE", tmp_path / "cache")
    for name, value in {"LNLIB_DATA": "", "LNLIB_CACHE": str(tmp_path), "LNLIB_OFFLINE": "1"}.items():
        monkeypatch.setenv(name, value)
    source = 'from lnbook import data\ndata.load("mnist", on_stand_in="silent").provenance["name"]'
    cells = read(executed(toy(tmp_path, source), "smoke").notebook).cells
    assert cells[1].outputs[0].data["text/plain"] == "'digits'"


def test_the_examples_in_the_extension_run():
    import doctest

    import figures

    assert doctest.testmod(figures) == (0, 4)

"""Every notebook runs through papermill in a fresh kernel at smoke scale, and is written as agreed."""

import ast
import re
import subprocess
import symtable
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest
import yaml
from execute import executed

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def is_chapter(path: Path) -> bool:
    """Whether a page is read through, with claims and exercises, and not looked things up in."""
    return read(path).metadata.lnlib.get("kind") != "reference"


def code_cells(path: Path) -> list[nbformat.NotebookNode]:
    return [c for c in read(path).cells if c.cell_type == "code"]


def bound(source: str) -> set[str]:
    """The names that a cell gives to those after it: all that it assigns but its loops' variables."""
    loops = (n.target for n in ast.walk(ast.parse(source)) if isinstance(n, ast.For))
    turning = {n.id for target in loops for n in ast.walk(target) if isinstance(n, ast.Name)}
    names = symtable.symtable(source, "a cell", "exec").get_symbols()
    return {name.get_name() for name in names if name.is_local()} - turning - {"_"}


@pytest.mark.notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs_at_smoke_scale_in_a_fresh_kernel(path, record_property, monkeypatch, pytestconfig):
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    # kept, if nothing that it depends on has changed since it ran; to start a process a core takes longer
    run = executed(path, "smoke", threads=None if pytestconfig.getoption("--slow") else 1)
    assert not run.failure, run.failure
    notebook = read(run.notebook)
    record_property("seconds", notebook.metadata.lnlib.run.seconds)
    assert all(c.execution_count for c in notebook.cells if c.cell_type == "code" and c.source.strip())
    outputs = [
        o for c in notebook.cells for o in c.get("outputs", []) if "image/svg+xml" in o.get("data", {})
    ]
    texts = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    pasted = re.findall(r"^```\{glue:figure\} (\S+)\n:name: \1\n:alt: .*\d", texts, flags=re.MULTILINE)
    assert sorted(o.metadata.scrapbook.name for o in outputs) == sorted(pasted), (
        "figures, and captions in the text"
    )
    kept = run.results / "smoke" / f"{path.stem}.csv"
    assert kept.is_file() or not is_chapter(path), f"{path.stem} never called page.show()"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_committed_without_outputs_and_with_unique_cell_ids(path):
    for cell in code_cells(path):
        assert not cell.outputs, f"{path.name}: strip the outputs (nbstripout --keep-id)"
        assert cell.execution_count is None
    assert len({c.id for c in read(path).cells}) == len(read(path).cells)


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
    code = "\n".join(c.source for c in code_cells(path))
    assert re.search(r"^(import|from) lnlib", code, flags=re.MULTILINE), "a page of this book uses lnlib"
    assert "glue(" not in code, "a number reaches the text by page.put"
    lengths = sorted(len(c.source.splitlines()) for c in code_cells(path))
    assert len(lengths) <= 25 or path.stem == "faq"
    assert lengths[-1] <= 25
    assert lengths[len(lengths) // 2] <= 8, f"median cell length {lengths[len(lengths) // 2]}"
    for cell in code_cells(path)[1:3]:  # parameters and imports: the first screen is the subject's
        assert "hide-input" in cell.metadata.tags
    if is_chapter(path):
        title, lead = notebook.cells[1].source.split("\n", 1)
        assert title == "## In one minute"
        assert len(re.sub(r"\{[^}]+\}`[^`]+`", "word", lead).split()) <= 60
        assert len(re.findall(r"\{(?:measured|glue:text)\}", lead)) <= 3, "numbers"
        assert sum("hero" in t for t in tags) == 1, "the picture that a page begins with"
    texts = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    headings = re.findall(r"^###? .*", texts, flags=re.MULTILINE)
    asks = [heading for heading in headings if heading.endswith("?")]
    assert 3 * len(asks) <= len(headings) or path.stem == "faq", f"say what is found: {asks}"
    solutions = [c for c in code_cells(path) if "hide-cell" in c.metadata.get("tags", [])]
    assert 2 <= len(solutions) <= 4 or not is_chapter(path)
    questions = re.findall(r"^\*\*\d+\.\*\*", texts.partition("\n## Check yourself\n")[2], flags=re.MULTILINE)
    assert len(questions) == len(solutions), "each solution has its question"
    for cell in solutions:
        assert cell.metadata["mystnb"]["code_prompt_show"] == "Show solution"


@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if p.stem != "faq"], ids=lambda p: p.stem)
def test_a_reader_can_run_any_cell_again_since_each_name_is_bound_once_and_the_imports_are_few(path):
    cells = [c.source for c in code_cells(path)[1:]]  # the first says what is missing
    times = Counter(name for source in cells for name in bound(source))
    assert not [name for name, count in times.items() if count > 1]
    importing = [len(re.findall(r"^(?:import|from) ", source, flags=re.MULTILINE)) for source in cells]
    assert sum(importing) == max(importing) <= 8, "one cell imports"


def test_the_pages_to_read_before_a_page_stand_before_it():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    order = [Path(c["file"]).name for part in toc["parts"] for c in part["chapters"]]
    for path in NOTEBOOKS:
        needs = read(path).metadata.lnlib.needs
        assert len(needs) <= 3, "the pages before these are theirs to name"
        assert all(order.index(page) < order.index(path.stem) for page in needs), path.stem


def test_no_function_is_defined_twice_in_the_book():
    names: Counter[str] = Counter()
    for cell in (cell for path in NOTEBOOKS for cell in code_cells(path)):
        names.update(re.findall(r"^(?:def|class) (\w+)", cell.source, flags=re.MULTILINE))
    assert not [name for name, times in names.items() if times > 1]


def test_an_answer_has_one_link_and_one_check_that_needs_no_other_and_can_fail(tmp_path: Path) -> None:
    path = ROOT / "book" / "faq.ipynb"
    _, *before = (cell.source for cell in code_cells(path)[:3])  # the parameters, the imports
    for n, (answer, check) in enumerate(pairwise(read(path).cells)):
        if answer.source.startswith("### "):
            assert len(re.findall(r"\{doc\}`(\w+)`", answer.source)) == 1, "one chapter that goes deep"
            assert re.search(r"^ *(assert|raise) ", check.source, flags=re.MULTILINE), answer.source
            (tmp_path / f"check_{n}.py").write_text("\n".join([*before, check.source]), encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "."]
    undefined = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not undefined.returncode, undefined.stdout

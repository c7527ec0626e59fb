"""A page depends on the files of both packages that it reaches, so that it is never stale."""

import ast
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import digest  # noqa: E402

from lnbook.ledger.imports import PACKAGES  # noqa: E402

BOOK = ROOT / "book"
PAGES = BOOK / "lnbook" / "pages"
ROOMS = sorted(f.parent for f in PAGES.glob("*/__init__.py"))


def reached(page: str) -> set[Path]:
    return digest.files_reached(nbformat.read(ROOT / "book" / f"{page}.ipynb", as_version=4))


@pytest.mark.parametrize(
    ("file", "depends"),
    [
        ("book/lnbook/pages/sec6_4_draw/model.py", True),
        ("book/lnbook/pages/sec6_4_draw/__init__.py", True),
        ("book/lnbook/shared/studies.py", True),
        ("book/lnbook/training/loop.py", True),
        ("book/lnbook/data/lookup.py", True),  # by a relative import
        ("lnlib/rnn/cells.py", True),
        ("book/lnbook/pages/sec6_5_handwriting/model.py", False),
        ("book/lnbook/cli/run.py", False),
    ],
)
def test_a_changed_file_runs_the_page_anew_exactly_if_the_page_reaches_it(monkeypatch, file, depends):
    notebook = ROOT / "book" / "sec6_4_draw.ipynb"
    before = digest.notebook_key(notebook, "smoke")
    true, changed = digest._sha256, ROOT / file
    assert changed.is_file()
    monkeypatch.setattr(digest, "_sha256", lambda f: "changed" if f == changed else true(f))
    assert (digest.notebook_key(notebook, "smoke") != before) == depends


FIGURES = BOOK / "lnbook" / "explore"
NAMED = {f.stem for f in FIGURES.glob("*.py")} & {f.stem for f in FIGURES.glob("*.js")}


@pytest.mark.parametrize("page", sorted(BOOK.glob("*.ipynb")), ids=lambda f: f.stem)
def test_a_page_depends_on_the_interactive_figures_that_it_shows_and_on_no_others(page):
    """Each is a module with a script and a style; the scripts and styles of all go with each."""
    cells = [c.source for c in nbformat.read(page, as_version=4).cells if c.cell_type == "code"]
    nodes = list(ast.walk(ast.parse("\n".join(map(digest.TransformerManager().transform_cell, cells)))))
    imported = {n.module for n in nodes if isinstance(n, ast.ImportFrom)}
    used = {n.id for n in nodes if isinstance(n, ast.Name)}
    shown = {name for name in NAMED & used if f"lnbook.explore.{name}" in imported}
    depends = {f.name for f in reached(page.stem) if f.parent == FIGURES}
    own = {f"{name}.{kind}" for name in NAMED for kind in ("py", "js", "css")} & depends
    assert own == {f"{name}.{kind}" for name in shown for kind in ("py", "js", "css")}
    assert ({"figure.js", "figure.css", "plot.js", "plot.css", "element.py"} <= depends) == bool(shown)


def test_a_changed_script_of_a_figure_runs_only_its_pages_anew(monkeypatch):
    pages = {name: BOOK / f"{name}.ipynb" for name in ("sec3_layer_normalization", "sec5_1_invariance")}
    before = {name: digest.notebook_key(page, "smoke") for name, page in pages.items()}
    true = digest._sha256
    monkeypatch.setattr(digest, "_sha256", lambda f: "changed" if f.name == "gain_and_bias.js" else true(f))
    anew = {name for name, page in pages.items() if digest.notebook_key(page, "smoke") != before[name]}
    assert anew == {"sec3_layer_normalization"}


@pytest.mark.parametrize("room", ROOMS, ids=lambda f: f.name)
def test_a_room_holds_only_what_its_page_reaches(room):
    unused = set(room.rglob("*.py")) - reached(room.name)
    assert not {f.relative_to(ROOT).as_posix() for f in unused}


def rows_read(page: Path) -> set[str]:
    """The stored rows that a notebook, or a module of the room it has, names in a call: `<scale>/<name>`."""
    python = digest.TransformerManager().transform_cell
    cells = [c.source for c in nbformat.read(page, as_version=4).cells if c.cell_type == "code"]
    sources = [python(source) for source in cells]
    sources += [f.read_text(encoding="utf-8") for f in (PAGES / page.stem).rglob("*.py")]
    found = set()
    for node in (n for source in sources for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if (
            called not in ("stored", "recorded", "read_rows")
            or not node.args
            or not isinstance(node.args[0], ast.Constant)
        ):
            continue
        scale = next((k.value for k in node.keywords if k.arg == "scale"), ast.Constant("study"))
        assert isinstance(scale, ast.Constant), f"{page.stem} reads rows of a scale that only a run knows"
        found.add(f"{scale.value}/{node.args[0].value}")
    return found


def reads_the_whole_record(page: Path) -> bool:
    cells = [c.source for c in nbformat.read(page, as_version=4).cells if c.cell_type == "code"]
    return any("import report\n" in source for source in cells)


@pytest.mark.parametrize("page", sorted((ROOT / "book").glob("*.ipynb")), ids=lambda f: f.stem)
def test_a_page_declares_the_stored_rows_that_it_reads_and_none_that_are_not_there(page):
    notebook = nbformat.read(page, as_version=4)
    for pattern in notebook.metadata.get("lnlib", {}).get("stored", []):
        assert list((ROOT / "book").glob(pattern)), f"{page.stem} declares {pattern}, which matches nothing"
    declared = set(digest.stored(notebook, page.stem))
    for rows in rows_read(page):
        for kind in ("csv", "json"):  # rows are read with how they came about
            file = ROOT / "book" / "results" / f"{rows}.{kind}"
            if not file.is_file():  # rules before their runs
                continue
            assert file in declared, f"{page.stem} reads {rows}.{kind} undeclared"
    if reads_the_whole_record(page):
        record = {f for kind in ("book", "study", "paper") for f in (BOOK / "results" / kind).iterdir()}
        record |= {BOOK / "claims.toml"}
        missing = {f.relative_to(BOOK).as_posix() for f in record - declared if f.stem != page.stem}
        assert not missing, f"{page.stem} shows verdicts on these rows and does not declare them"


PLUMBING = {
    *("nbformat", "papermill", "jupyter_client", "traitlets", "filelock", "IPython", "myst_nb"),
    *("tqdm", "pooch", "packaging", "jaxtyping", "threadpoolctl", "cycler"),
}  # show, fetch and check, and compute nothing that a page prints


@pytest.mark.slow
def test_another_version_of_what_computes_or_draws_runs_the_pages_anew():
    names = metadata.packages_distributions()
    for page in BOOK.glob("*.ipynb"):
        modules = [ast.parse(f.read_text("utf-8")) for f in reached(page.stem) if f.suffix == ".py"]
        nodes = [n for module in modules for n in ast.walk(module)]
        imported = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
        imported |= {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom) and not n.level}
        others = {name.split(".")[0] for name in imported} & set(names) - PLUMBING - set(PACKAGES)
        unseen = {name for name in others if not set(names[name]) & set(digest.VERSIONS)}
        assert not unseen, f"{page.stem} depends on the versions of {unseen}"


def test_pages_that_read_stored_rows_are_found():
    assert [f.stem for f in BOOK.glob("*.ipynb") if reads_the_whole_record(f)] == ["sec7_conclusion"]
    pages = {f.stem for f in (ROOT / "book").glob("*.ipynb") if rows_read(f)}
    assert {"sec6_1_order_embeddings", "sec6_4_draw", "sec6_6_permutation_mnist", "sec7_conclusion"} <= pages
    assert "appendix_cells" in pages


def test_a_number_of_the_paper_that_changes_runs_the_pages_anew(monkeypatch, tmp_path):
    notebook = ROOT / "book" / "sec6_4_draw.ipynb"
    before = digest.notebook_key(notebook, "smoke")
    (tmp_path / "claims.toml").write_text((ROOT / "book" / "claims.toml").read_text().replace("79.4", "79.5"))
    monkeypatch.setattr(digest, "BOOK", tmp_path)
    monkeypatch.setattr(digest, "stored", lambda *_: [])
    monkeypatch.setattr(digest, "files_reached", lambda _: set())
    changed = digest.notebook_key(notebook, "smoke")
    (tmp_path / "claims.toml").write_text((ROOT / "book" / "claims.toml").read_text())
    assert changed != digest.notebook_key(notebook, "smoke") != before


def test_pages_that_start_together_are_read_one_after_the_other(monkeypatch):
    """Two syntax trees in the making at a time end in "AST constructor recursion depth mismatch"."""
    parse, inside, most = ast.parse, [], []

    def watched(code):
        inside.append(code)
        most.append(len(inside))
        time.sleep(0.001)  # lets the other threads in, if nothing holds them back
        tree = parse(code)
        inside.remove(code)
        return tree

    monkeypatch.setattr(ast, "parse", watched)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda k: digest._imports(f"import lnlib  # {k}", ""), range(32)))
    assert max(most) == 1

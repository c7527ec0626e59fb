"""A page runs again when something that it depends on has changed, so that it is never stale."""

import ast
import re
from importlib import metadata
from pathlib import Path

import digest
import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from test_schedule import write

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))


def code(page: Path) -> str:
    cells = [c.source for c in nbformat.read(page, as_version=4).cells if c.cell_type == "code"]
    return "\n".join(map(TransformerManager().transform_cell, cells))


@pytest.mark.parametrize(
    ("file", "pages"),
    [
        ("lnlib/rnn/cells.py", {"sec6_4_draw", "sec6_5_handwriting", "faq"}),
        ("book/lnbook/training/loop.py", {"sec6_4_draw", "sec6_5_handwriting", "faq"}),
        ("book/lnbook/explore/axis_flip.js", {"sec6_4_draw", "sec6_5_handwriting", "faq"}),
        ("book/_ext/execute.py", {"sec6_4_draw", "sec6_5_handwriting", "faq"}),
        ("book/lnbook/pages/sec6_4_draw/model.py", {"sec6_4_draw", "faq"}),
        ("book/results/study/draw.csv", {"sec6_4_draw"}),
    ],
)
def test_a_changed_file_runs_the_pages_anew_that_depend_on_it(monkeypatch, file, pages):
    notebooks = [BOOK / f"{page}.ipynb" for page in ("sec6_4_draw", "sec6_5_handwriting", "faq")]
    before = {page: digest.notebook_key(page, "smoke") for page in notebooks}
    read, changed = Path.read_bytes, ROOT / file
    assert changed.is_file()
    monkeypatch.setattr(Path, "read_bytes", lambda f: b"changed" if f == changed else read(f))
    anew = {page.stem for page in notebooks if digest.notebook_key(page, "smoke") != before[page]}
    assert anew == pages


def test_a_page_reads_no_room_but_its_own():
    for page in NOTEBOOKS:
        shown = set(re.findall(r"from lnbook\.explore\.(\w+) import", code(page)))
        figures = [(BOOK / "lnbook" / "explore" / f"{name}.py").read_text("utf-8") for name in shown]
        rooms = set(re.findall(r"\blnbook\.pages\.(\w+)", "\n".join([code(page), *figures])))
        own = (digest.PAGES / page.stem).is_dir()
        assert rooms <= {page.stem} or not own, f"{page.stem} would not run again when these change: {rooms}"


def rows_read(page: Path) -> set[str]:
    """The stored rows that a notebook, or a module of the room it has, names in a call: `<scale>/<name>`."""
    sources = [code(page)] + [f.read_text("utf-8") for f in (digest.PAGES / page.stem).rglob("*.py")]
    found = set()
    for node in (n for source in sources for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)):
        called = getattr(node.func, "attr", getattr(node.func, "id", ""))
        named = isinstance(next(iter(node.args), None), ast.Constant)
        if called in ("stored", "recorded", "read_rows") and named:
            scale = next((k.value for k in node.keywords if k.arg == "scale"), ast.Constant("study"))
            assert isinstance(scale, ast.Constant), f"{page.stem} reads rows of a scale that only a run knows"
            found.add(f"{scale.value}/{node.args[0].value}")
    return found


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda f: f.stem)
def test_a_page_declares_the_stored_rows_that_it_reads_and_none_that_are_not_there(page):
    notebook = nbformat.read(page, as_version=4)
    for pattern in notebook.metadata.get("lnlib", {}).get("stored", []):
        assert list(BOOK.glob(pattern)), f"{page.stem} declares {pattern}, which matches nothing"
    # with how they came about; none of rules that are there before their runs
    read = {f for rows in rows_read(page) for f in (BOOK / "results").glob(f"{rows}.*")}
    if "import report\n" in code(page):  # all verdicts
        read |= {f for kind in ("book", "study", "paper") for f in (BOOK / "results" / kind).iterdir()}
        read |= {BOOK / "claims.toml"}
    undeclared = read - set(digest.stored(notebook, page.stem))
    assert not {f.relative_to(BOOK).as_posix() for f in undeclared if f.stem != page.stem}


def test_a_page_depends_on_the_stored_rows_it_names_but_not_on_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(digest, "BOOK", tmp_path)
    (tmp_path / "claims.toml").write_text("claim = []")
    for name in ("other", "page"):
        (tmp_path / f"{name}.csv").write_text("value\n1\n")
    page = write(tmp_path / "page.ipynb", "1", stored=["*.csv"])
    before = digest.notebook_key(page, "smoke")
    (tmp_path / "page.csv").write_text("value\n2\n")
    assert digest.notebook_key(page, "smoke") == before, "what a page records must not run it anew"
    (tmp_path / "other.csv").write_text("value\n2\n")
    assert digest.notebook_key(page, "smoke") != before


PLUMBING = {
    *("nbformat", "papermill", "jupyter_client", "traitlets", "filelock", "IPython", "myst_nb"),
    *("tqdm", "pooch", "packaging", "jaxtyping", "threadpoolctl", "joblib", "cycler"),
}  # show, fetch and check, and compute nothing that a page prints


@pytest.mark.slow
def test_another_version_of_what_computes_or_draws_runs_the_pages_anew():
    names = metadata.packages_distributions()
    modules = [ast.parse(f.read_text("utf-8")) for f in digest.code_of("faq") if f.suffix == ".py"]
    nodes = [n for module in modules for n in ast.walk(module)]
    imported = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    imported |= {n.module or "" for n in nodes if isinstance(n, ast.ImportFrom) and not n.level}
    others = {name.split(".")[0] for name in imported} & set(names) - PLUMBING - {"lnlib", "lnbook"}
    assert not {name for name in others if not set(names[name]) & set(digest.VERSIONS)}


def test_a_number_of_the_paper_that_changes_runs_the_pages_anew(monkeypatch, tmp_path):
    notebook = BOOK / "sec6_4_draw.ipynb"
    monkeypatch.setattr(digest, "BOOK", tmp_path)
    claims = (BOOK / "claims.toml").read_text()
    keys = set()
    for text in (claims, claims.replace("79.4", "79.5")):
        (tmp_path / "claims.toml").write_text(text)
        keys.add(digest.notebook_key(notebook, "smoke"))
    assert len(keys) == 2

"""A page runs again when something that it is made from changes, so that it is never stale, and only then."""

import re
from pathlib import Path

import digest
import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from lnbook.ledger.rules import Rule

BOOK = Path(__file__).resolve().parents[2] / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))


def rule(page: str, says: str = "it is small") -> Rule:
    return Rule(f"{page}-rule", "3", "Eq. (3)", says, page, "size", "< 1", "computed")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with a room, the library, what pages share, another's room, and recorded rows."""
    book = tmp_path / "book"
    write(tmp_path / "lnlib" / "norm.py")
    for name in ("data/sets.toml", "pages/one/draw.py", "pages/two/draw.py"):
        write(book / "lnbook" / name)
    for name in ("results/study/runs.csv", "results/book/one.csv", "claims.toml"):
        write(book / name)
    page(book, "1 + 1")
    for name, place in (("ROOT", tmp_path), ("BOOK", book), ("PAGES", book / "lnbook" / "pages")):
        monkeypatch.setattr(digest, name, place)
    monkeypatch.setattr(digest, "load_rules", lambda _: [rule("one"), rule("two")])
    return tmp_path


def write(path: Path, text: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def page(book: Path, source: str) -> None:
    cells = [nbformat.v4.new_code_cell(source, id="a")]
    facts = {"lnlib": {"data": ["digits"], "stored": ["results/*/*.csv"]}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=facts), book / "one.ipynb")


def key(tree: Path, scale: str = "smoke") -> str:
    return digest.notebook_key(tree / "book" / "one.ipynb", scale)


@pytest.mark.parametrize(
    ("file", "text", "counts"),
    [
        ("lnlib/norm.py", "2", True),
        ("book/lnbook/data/sets.toml", "2", True),
        ("book/lnbook/pages/one/draw.py", "2", True),
        ("book/lnbook/pages/two/draw.py", "2", False),
        ("book/results/study/runs.csv", "2", True),
        ("book/results/book/one.csv", "2", False),  # the page makes these
        ("book/lnbook/notes.txt", "2", False),
        ("book/claims.toml", "[[table]]\nvalue = 79.5", True),  # a number of the paper
    ],
)
def test_a_file_counts_for_the_pages_that_are_made_from_it(
    tree: Path, file: str, text: str, counts: bool
) -> None:
    before = key(tree)
    write(tree / file, text)
    assert (key(tree) != before) == counts


@pytest.mark.parametrize(
    ("name", "changed", "counts"),
    [
        ("load_rules", lambda _: [rule("one", "changed"), rule("two")], True),
        ("load_rules", lambda _: [rule("one"), rule("two", "changed")], False),
        ("packages", lambda: ["torch 99"], True),
        ("data.find", lambda name: "LNLIB_DATA", True),
        ("platform.python_version", lambda: "another", True),
    ],
)
def test_its_rules_versions_and_where_the_data_are_count(
    tree: Path, monkeypatch, name, changed, counts
) -> None:
    before = key(tree)
    monkeypatch.setattr(f"digest.{name}", changed)
    assert (key(tree) != before) == counts


def test_cells_and_scale_count(tree: Path) -> None:
    before = key(tree)
    assert key(tree, "book") != before
    page(tree / "book", "1 + 2")
    assert key(tree) != before


def code(page: Path) -> str:
    cells = [c.source for c in nbformat.read(page, as_version=4).cells if c.cell_type == "code"]
    return "\n".join(map(TransformerManager().transform_cell, cells))


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
    call = r'\b(?:stored|recorded|read_rows)\(\s*"([\w.-]+)"(?:[^()]*?\bscale="(\w+)")?'
    return {f"{scale or 'study'}/{name}" for name, scale in re.findall(call, "\n".join(sources))}


@pytest.mark.parametrize("page", NOTEBOOKS, ids=lambda f: f.stem)
def test_a_page_declares_the_stored_rows_that_it_reads(page):
    read = {f for rows in rows_read(page) for f in (BOOK / "results").glob(f"{rows}.*")}
    if "import report\n" in code(page):  # all verdicts
        read |= {f for kind in ("book", "study", "paper") for f in (BOOK / "results" / kind).iterdir()}
        read |= {BOOK / "claims.toml"}
    undeclared = read - set(digest.stored(nbformat.read(page, as_version=4), page.stem))
    assert not {f.relative_to(BOOK).as_posix() for f in undeclared if f.stem != page.stem}

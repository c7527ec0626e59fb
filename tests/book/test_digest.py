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


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page with a room and a rule, and a rule of another page."""
    monkeypatch.setattr(digest, "load_rules", lambda _: [rule("beyond_transformers"), rule("faq")])
    facts = {"lnlib": {"data": ["digits"], "stored": ["results/*/*.csv"]}}
    cells = [nbformat.v4.new_code_cell("1 + 1", id="a")]
    written = tmp_path / "beyond_transformers.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=facts), written)
    return written


def rule(page: str, says: str = "it is small") -> Rule:
    return Rule(f"{page}-rule", "3", "Eq. (3)", says, page, "size", "< 1", "computed")


def test_a_page_is_made_from_the_library_the_kit_its_own_room_and_the_rows_that_it_reads(page: Path) -> None:
    made = {f.relative_to(BOOK.parent).as_posix() for f in digest.code_of("beyond_transformers")}
    assert {"lnlib/glm/model.py", "book/lnbook/data/datasets.toml", "book/_ext/execute.py"} <= made
    rooms = {name.split("/")[3] for name in made if name.startswith("book/lnbook/pages/")}
    assert rooms == {"beyond_transformers"}
    read = digest.stored(nbformat.read(page, 4), "beyond_transformers")
    assert BOOK / "results" / "book" / "sec2_background.csv" in read
    assert BOOK / "results" / "book" / "beyond_transformers.csv" not in read, "the page makes these"


@pytest.mark.parametrize(
    ("name", "changed", "counts"),
    [
        ("load_rules", lambda _: [rule("beyond_transformers", "changed"), rule("faq")], True),
        ("load_rules", lambda _: [rule("beyond_transformers"), rule("faq", "changed")], False),
        ("tomllib.loads", lambda _: {"table": [{"value": 79.5}]}, True),  # a number of the paper
        ("code_of", lambda _: [Path(__file__)], True),
        ("packages", lambda: ["torch 99"], True),
        ("data.find", lambda name: "LNLIB_DATA", True),
        ("platform.python_version", lambda: "another", True),
    ],
)
def test_code_rules_versions_and_where_the_data_are_count(page, monkeypatch, name, changed, counts) -> None:
    before = digest.notebook_key(page, "smoke")
    monkeypatch.setattr(f"digest.{name}", changed)
    assert (digest.notebook_key(page, "smoke") != before) == counts


def test_cells_and_scale_count(page: Path) -> None:
    before = digest.notebook_key(page, "smoke")
    assert digest.notebook_key(page, "book") != before
    page.write_text(page.read_text().replace("1 + 1", "1 + 2"))
    assert digest.notebook_key(page, "smoke") != before


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

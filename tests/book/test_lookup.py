"""The index: every word, equation and function that a page uses is found there."""

import doctest
import sys
from pathlib import Path

import nbformat
import pytest

BOOK = Path(__file__).resolve().parents[2] / "book"
sys.path.insert(0, str(BOOK / "_ext"))

import lookup  # noqa: E402

SOURCES = [*sorted(BOOK.glob("*.ipynb")), *sorted(BOOK.glob("*.md"))]


def page(folder: Path, prose: str, code: str = "") -> Path:
    cells = [nbformat.v4.new_markdown_cell(prose), nbformat.v4.new_code_cell(code)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "toy.ipynb")
    return folder / "toy.ipynb"


def test_a_word_is_found_in_any_spelling_of_its_role(tmp_path):
    source = page(tmp_path, "{term}`Layer norm`, {term}`units <unit>`, {term}`mini-\nbatch <mini-batch>`")
    found = lookup.words([source])
    assert {word for word, pages in found.items() if pages} == {"layer norm", "unit", "mini-batch"}
    assert found["unit"] == {"toy"}
    assert len(found) > 40


def test_an_equation_is_found_where_it_is_stated_and_where_it_is_cited(tmp_path):
    source = page(tmp_path, "```{math}\n:label: eq-3\na\n```\nand {eq}`eq-12`, {eq}`own`")
    assert lookup.equations([source]) == {"eq-3": {"toy"}, "eq-12": {"toy"}}


def test_every_equation_of_the_paper_is_in_the_index():
    assert set(lookup.equations(SOURCES)) == {f"eq-{n}" for n in range(1, 36)}


def test_a_function_is_listed_once_under_its_shortest_name(tmp_path):
    code = (
        "from lnlib.norms.normalize import layer_norm\nfrom lnlib import fisher, layer_norm as ln\nfisher.kl"
    )
    assert set(lookup.functions([page(tmp_path, "", code)])) == {"lnlib.layer_norm", "lnlib.fisher.kl"}


def test_a_function_with_two_names_is_listed_alike_in_every_build(tmp_path, monkeypatch):
    source = page(tmp_path, "", "from lnlib.equations import eq25, eq28")
    names = ["lnlib.equations.eq25", "lnlib.equations.eq28"]  # one function; a set gives them in any order
    for given in (names, names[::-1]):
        monkeypatch.setattr(lookup, "names_of_lnlib", lambda _, given=given: given)
        assert set(lookup.functions([source])) == set(names)


def test_what_only_the_book_uses_is_not_in_the_index(tmp_path):
    code = "from lnbook import data\nfrom lnbook.ledger.results import Ledger\ndata.load('mnist')"
    assert lookup.functions([page(tmp_path, "", code)]) == {}


def test_the_functions_that_readers_take_with_them_are_in_the_index():
    found = lookup.functions(SOURCES)
    assert {"lnlib.layer_norm", "lnlib.batch_norm", "lnlib.LSTM", "lnlib.fisher.FisherOperator"} <= set(found)
    assert "sec3_layer_normalization" in found["lnlib.layer_norm"]


def test_entries_stand_in_the_order_of_their_numbers_and_pages_in_that_of_the_book():
    order = ["sec2_background", "beyond_exact_fisher", "glossary"]
    text = lookup.listing({"eq-3": set(order)}, order, "{{eq}}`{}`")
    links = [
        "{doc}`2 <sec2_background>`",
        "{doc}`exact fisher <beyond_exact_fisher>`",
        "{doc}`Glossary <glossary>`",
    ]
    assert text == "- {eq}`eq-3`: " + ", ".join(links)
    assert sorted(["eq10", "Eq2", "eq1"], key=lookup._by_number) == ["eq1", "Eq2", "eq10"]


@pytest.mark.parametrize("module", [lookup])
def test_the_examples_run(module):
    assert doctest.testmod(module) == (0, 1)

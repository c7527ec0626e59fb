"""The index: every word, equation and function that a page uses is found there."""

from pathlib import Path

import lookup
import nbformat

BOOK = Path(__file__).resolve().parents[2] / "book"
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


def test_a_function_is_listed_by_its_names_in_the_reference_and_what_only_the_book_uses_is_not(tmp_path):
    code = (
        "from lnlib.norms.normalize import layer_norm\nfrom lnlib import fisher, layer_norm as ln\n"
        "fisher.kl\nfrom lnlib.equations import eq25, eq28\nfrom lnbook import data"
    )
    found = lookup.functions([page(tmp_path, "", code)])
    named = {"lnlib.layer_norm", "lnlib.fisher.kl", "lnlib.equations.eq25", "lnlib.equations.eq28"}
    assert {name for name, pages in found.items() if pages} == named
    assert "lnlib.LSTM" in found, "what no page uses is listed, too"


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

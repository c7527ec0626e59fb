"""The index: every word and equation that a page uses is found there, in any spelling of its role."""

from pathlib import Path

import lookup
import nbformat

BOOK = Path(__file__).resolve().parents[2] / "book"
SOURCES = [*sorted(BOOK.glob("*.ipynb")), *sorted(BOOK.glob("*.md"))]


def test_a_word_and_an_equation_are_found_where_they_are_used_stated_or_cited(tmp_path: Path) -> None:
    said = "{term}`Layer norm`, {term}`units <unit>`, {term}`mini-\nbatch <mini-batch>`"
    stated = "```{math}\n:label: eq-3\na\n```\nand {eq}`eq-12`, {eq}`own`"
    cells = [nbformat.v4.new_markdown_cell(text) for text in (said, stated)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "toy.ipynb")
    sources = [tmp_path / "toy.ipynb"]
    assert len(lookup.words()) > 40
    found = lookup.occurrences("term", lookup.words(), sources)
    assert {word for word, pages in found.items() if pages == ["toy"]} == {"layer norm", "unit", "mini-batch"}
    found = lookup.occurrences("eq", lookup.EQUATIONS, sources)
    assert {label for label, pages in found.items() if pages} == {"eq-3", "eq-12"}


def test_every_equation_of_the_paper_is_on_some_page():
    assert all(lookup.occurrences("eq", lookup.EQUATIONS, SOURCES).values())


def test_a_page_is_linked_by_its_number_its_subject_or_its_title():
    text = lookup.listing("eq", {"eq-3": ["sec2_background", "beyond_exact_fisher", "faq"]})
    links = "{doc}`2 <sec2_background>`, {doc}`exact fisher <beyond_exact_fisher>`, {doc}`"
    assert text.startswith(f"- Equation {{eq}}`eq-3`: {links}")

"""The page that gathers the interactive figures: all of them, each with a link to the chapter that has it."""

import re
from pathlib import Path

import nbformat
import pytest

from lnbook.explore import FIGURES

BOOK = Path(__file__).resolve().parents[3] / "book"
REPLAYS = ("strokes", "writing")  # of what a chapter has trained: they stay there


def cells(page: str) -> list[nbformat.NotebookNode]:
    return nbformat.read(BOOK / f"{page}.ipynb", as_version=4).cells


def shows(cell: nbformat.NotebookNode, figure: str) -> bool:
    """Whether a cell of code ends in this figure."""
    lines = cell.source.strip().splitlines()
    return cell.cell_type == "code" and bool(lines) and re.match(rf"{figure}\(", lines[-1]) is not None


@pytest.mark.parametrize("figure", FIGURES)
def test_each_figure_is_gathered_once_with_a_question_and_a_link_to_its_chapter(figure):
    gallery = cells("explore")
    at = [k for k, cell in enumerate(gallery) if shows(cell, figure)]
    if figure in REPLAYS:
        assert at == []
        text = next(c.source for c in gallery if f"`{figure}()`" in c.source)
    else:
        assert len(at) == 1
        text = gallery[at[0] - 1].source
        assert text.startswith("## ")
        assert re.search(r"\*[^*]+\?[^*]*\*", text), "each figure begins with a question"
    linked = re.findall(r"\{doc\}`(?:[^<`]*<)?(\w+)>?`", text)
    showing = [page for page in linked if any(shows(cell, figure) for cell in cells(page))]
    assert showing, f"none of {linked} shows {figure}"


@pytest.mark.parametrize("figure", FIGURES)
def test_a_chapter_shows_each_figure_once(figure):
    pages = [p.stem for p in BOOK.glob("*.ipynb") if p.stem != "explore"]
    found = [page for page in pages for cell in cells(page) if shows(cell, figure)]
    assert len(found) == 1, found

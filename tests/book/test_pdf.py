"""The book as one PDF: every page of the table of contents, whole, with its places linked."""

import json
from pathlib import Path

import pytest
from browser import launch
from built import html
from pdf import print_book
from pypdf import PdfReader

PAGES = ("intro", "sec3_layer_normalization", "notation")  # pictures, formulas, tables


@pytest.mark.slow
@pytest.mark.browser
def test_the_pdf_has_every_page_with_a_bookmark_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    """Some pages; `make pdf` prints all, and fails where anything does not fit."""
    with launch():  # skips, or fails, where there is no browser
        pass
    root, *others = ({"file": f"book/{name}"} for name in PAGES)
    toc = {"root": root["file"], "parts": [{"caption": "Some", "chapters": others}]}
    (tmp_path / "toc.yml").write_text(json.dumps(toc), encoding="utf-8")
    print_book(html(), tmp_path / "toc.yml", tmp_path / "book.pdf")
    book = PdfReader(tmp_path / "book.pdf")
    marks = [mark for mark in book.outline if not isinstance(mark, list)]
    titles = ["Layer Normalization, executed", "3 Layer normalization", "Notation"]
    assert [mark.title for mark in marks][-3:] == titles
    sheets = list(map(book.get_destination_page_number, marks))
    assert sheets == sorted(set(sheets))
    assert len(book.pages) > 5 * len(PAGES)
    assert book.root_object["/MarkInfo"]["/Marked"], "it can be read aloud"
    targets = [note.get_object().get("/Dest") for sheet in book.pages for note in sheet.get("/Annots", [])]
    assert {f"/{name}" for name in PAGES} <= set(targets)
    assert set(filter(None, targets)) <= set(book.named_destinations)

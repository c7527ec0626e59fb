"""The book as one PDF: every page of the table of contents, whole, with its places linked."""

import json
from pathlib import Path

import pytest
from browser import launch
from built import html
from pdf import chapter, print_book
from pypdf import PdfReader

PAGES = ("intro", "sec3_layer_normalization", "notation")  # pictures, formulas, tables
PAGE = """<article class="bd-article"><section id="top"><h1>Title<a class="headerlink" href="#top">#</a></h1>
<p><a href="#top">here</a> <a href="two.html">there</a> <a href="two.html#x">in it</a>
<a href="https://example.org">far</a> <a href="notebooks/one.ipynb">file</a></p>
<figure><a class="ink-dark" href="../_images/a.svg"><img loading="lazy" src="../_images/a.svg"></a>
<a class="ink-light" href="../_images/a-dark.svg"><img class="ink-light" src="../_images/a-dark.svg"></a>
<figcaption>All hold.</figcaption></figure>
<div class="lnlib-figure"><table><tr><td>as a table</td></tr></table></div><script>move()</script>
</section></article>"""


def test_a_chapters_links_lead_to_places_in_the_file_and_what_needs_a_screen_is_left_out(
    tmp_path: Path,
) -> None:
    for name in ("one", "two"):
        (tmp_path / "book").mkdir(exist_ok=True)
        (tmp_path / "book" / f"{name}.html").write_text(PAGE, encoding="utf-8")
    one = chapter("one", tmp_path)
    assert [(a.get_text(), a["href"]) for a in one.find_all("a")] == [
        ("here", "#one--top"),
        ("there", "#two"),
        ("in it", "#two--x"),
        ("far", "https://example.org"),
    ]
    assert (one["id"], one.section["id"]) == ("one", "one--top")
    assert "file" in one.p.get_text()
    assert [image.attrs for image in one.find_all("img")] == [{"src": "../_images/a.svg"}]
    assert one.select_one(".lnlib-figure").get_text() == "as a table"
    assert not one.find("script")


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

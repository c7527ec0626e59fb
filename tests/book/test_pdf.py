"""The book as one PDF: every page of the table of contents, whole, folded open, with its places linked."""

import json
import re
import unicodedata

import pytest
from browser import launch
from bs4 import BeautifulSoup
from built import html
from pdf import CLIPPED, chapter, print_book
from pypdf import PdfReader

PAGES = ("intro", "sec3_layer_normalization", "notation")  # pictures, formulas, tables
PAGE = """<article class="bd-article"><section id="top"><h1>Title<a class="headerlink" href="#top">#</a></h1>
<p><a href="#top">here</a> <a href="two.html">there</a> <a href="two.html#x">in it</a>
<a href="https://example.org">far</a> <a href="notebooks/one.ipynb">file</a></p>
<details><summary><p>Show the solution</p> <p>Hide the solution</p></summary><pre>1 + 1</pre></details>
<figure><a class="ink-dark" href="../_images/a.svg"><img loading="lazy" src="../_images/a.svg"></a>
<a class="ink-light" href="../_images/a-dark.svg"><img class="ink-light" src="../_images/a-dark.svg"></a>
<figcaption>All hold. (<a class="drawn-data" href="data/a.csv">data</a>)</figcaption></figure>
<div class="lnlib-figure"><table><tr><td>as a table</td></tr></table></div><script>move()</script>
</section></article>"""


@pytest.fixture
def one(tmp_path):
    folder = tmp_path / "html" / "book"
    folder.mkdir(parents=True)
    for name in ("one", "two"):
        (folder / f"{name}.html").write_text(PAGE, encoding="utf-8")
    return chapter("one", tmp_path / "html")


def test_addresses_in_the_book_lead_to_places_in_the_file_and_files_beside_it_lose_their_links(one):
    assert [(a.get_text(), a["href"]) for a in one.find_all("a") if not a.find("img")] == [
        ("here", "#one--top"),
        ("there", "#two"),
        ("in it", "#two--x"),
        ("far", "https://example.org"),
    ]
    assert one["id"] == "one"
    assert one.section["id"] == "one--top"
    assert "file" in one.p.get_text()


def test_what_is_folded_is_open_and_says_what_it_is(one):
    assert one.details.has_attr("open")
    assert one.summary.get_text() == "Solution"


def test_a_figure_is_printed_once_in_dark_ink_and_a_moving_one_as_its_table(one):
    (image,) = one.find_all("img")
    assert image["src"].endswith("html/book/../_images/a.svg")
    assert "loading" not in image.attrs
    assert one.figcaption.get_text() == "All hold."
    assert one.select_one(".lnlib-figure").get_text() == "as a table"
    assert not one.find("script")


@pytest.mark.browser
def test_what_is_wider_than_the_paper_is_noticed(tmp_path):
    file = tmp_path / "wide.html"
    cells = "<td>" + "x" * 300 + "</td>"
    file.write_text(f'<section class="chapter" id="c"><table><tr>{cells}</tr></table><p>fits</p></section>')
    with launch() as chromium, chromium.open_page(file, width=680) as (page, _, _):
        assert [line[:12] for line in page.evaluate(CLIPPED)] == ["c: <TABLE> x"]


@pytest.fixture(scope="module")
def book(tmp_path_factory) -> PdfReader:
    """Some pages of the book, printed; `make pdf` prints all, and fails where anything does not fit."""
    with launch():  # skips, or fails, where there is no browser
        pass
    folder = tmp_path_factory.mktemp("pdf")
    root, *others = (f"book/{name}" for name in PAGES)
    part = {"caption": "Some", "chapters": [{"file": name} for name in others]}
    (folder / "toc.yml").write_text(json.dumps({"root": root, "parts": [part]}), encoding="utf-8")
    print_book(html(), folder / "toc.yml", folder / "book.pdf")
    return PdfReader(folder / "book.pdf")


def title(name: str) -> str:
    """The title of a built page."""
    page = BeautifulSoup((html() / "book" / f"{name}.html").read_text(encoding="utf-8"), "html.parser")
    return " ".join(page.find("h1").get_text().removesuffix("#").split())


def words(text: str) -> str:
    """Letters and digits; a font's one glyph for "fi" is two letters."""
    return re.sub(r"\W+", "", unicodedata.normalize("NFKC", text))


@pytest.mark.slow
@pytest.mark.browser
def test_the_pdf_has_every_page_where_its_contents_and_its_bookmarks_say(book):
    starts = {
        mark.title: book.get_destination_page_number(mark)
        for mark in book.outline
        if not isinstance(mark, list)
    }
    titles = list(map(title, PAGES))
    contents = "".join(book.pages[i].extract_text() for i in range(1, starts[titles[0]]))
    for name in titles:
        assert words(name) in words(book.pages[starts[name]].extract_text()[:400]), name
        assert words(name) in words(contents)
    sheets = [starts[name] + 1 for name in titles]
    assert sheets == sorted(sheets)
    assert set(sheets) <= {int(line) for line in re.findall(r"^\d+$", contents, re.M)}
    assert len(book.pages) > 5 * len(sheets)


@pytest.mark.slow
@pytest.mark.browser
def test_no_word_of_the_pdf_lies_outside_its_sheet(book):
    sheet = book.pages[0].mediabox
    outside = []

    def look(text, matrix, place, font, size):
        x, y = place[4] * matrix[0] + matrix[4], place[5] * matrix[3] + matrix[5]
        if text.strip() and not (0 < x < sheet.width and 0 < y < sheet.height):
            outside.append(text)

    for number in range(0, len(book.pages), 3):
        book.pages[number].extract_text(visitor_text=look)
    assert not outside


@pytest.mark.slow
@pytest.mark.browser
def test_the_pdf_can_be_read_aloud_and_its_links_lead_somewhere(book):
    assert book.root_object["/MarkInfo"]["/Marked"]
    assert book.root_object["/Lang"] == "en"
    known = set(book.named_destinations)
    for sheet in book.pages:
        for note in sheet.get("/Annots", []):
            if target := note.get_object().get("/Dest"):
                assert target in known, target

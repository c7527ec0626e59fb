"""The whole book as one PDF: the built pages put in order, typeset and printed by headless Chromium.

`make pdf` runs `python book/_ext/pdf.py`. Nothing is executed again: the chapters are the pages of
`_build/html`. What moves on a screen becomes its table or picture, what is folded is opened, and every
address inside the book leads to its place in the file.
"""

import html
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import Page, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, NameObject, TextStringObject

from chromium import ARGUMENTS, executable

ROOT = Path(__file__).resolve().parents[2]
logging.getLogger("pypdf").setLevel(logging.ERROR)  # it finds more objects than announced
TITLE = "Layer Normalization, executed"
LONG = 10  # lines of code, twice what pdf.css leaves on either side
PATIENCE_MS = 600_000  # for what never comes; a busy machine may take its time
DROPPED = (
    "script, style, template, a.headerlink, a.ink-light, button, .pst-js-only, "
    ".term-note, .run-page, .drawn-data"
)
POINTERS = ("for", "aria-labelledby", "aria-describedby", "aria-controls")
# What would be cut off at the edge of the paper: wider than the place it stands in.
CLIPPED = """() => [...document.querySelectorAll("pre, table, img, svg, p, li, dd, h1, h2, h3, h4")]
  .filter(e => e.getClientRects().length && (e.getBoundingClientRect().right > innerWidth + 1
    || (e.matches("pre, p, li, dd") && e.scrollWidth > e.clientWidth + 1)))
  .map(e => `${e.closest(".chapter")?.id}: <${e.tagName}> ${e.textContent.trim().slice(0, 60)}`)"""


def parts(toc: Path) -> Iterator[tuple[str, list[str]]]:
    """The parts of the table of contents: a caption, and the names of its pages."""
    listed = yaml.safe_load(toc.read_text(encoding="utf-8"))
    yield "", [Path(listed["root"]).name]
    for part in listed["parts"]:
        yield part["caption"], [Path(chapter["file"]).name for chapter in part["chapters"]]


def chapter(page: str, built: Path) -> Tag:
    """The article of a built page, fit for paper, with the page's name before each of its ids."""
    article = _soup(built, page).find("article")
    for data in article.select("figcaption .drawn-data"):  # " (data)": a file that paper cannot open
        data.previous_sibling.replace_with(data.previous_sibling.removesuffix(" ("))
        data.next_sibling.replace_with(data.next_sibling.removeprefix(")"))
    for tag in article.select(DROPPED):
        tag.decompose()
    for details in article.find_all("details"):
        details["open"] = ""
        name = re.sub(r"^Show the ", "", details.summary.get_text(" ", strip=True).split(" Hide ")[0])
        details.summary.clear()
        details.summary.string = name[:1].upper() + name[1:]
    fit_sheets(article)
    for image in article.find_all("img", src=True):
        image["src"] = f"{built.resolve().as_uri()}/book/{image['src']}"
        image.attrs.pop("loading", None)  # nobody scrolls there
    for tag in article.find_all(True):
        if "id" in tag.attrs:
            tag["id"] = f"{page}--{tag['id']}"
        for pointer in POINTERS:
            if pointer in tag.attrs:
                tag[pointer] = " ".join(f"{page}--{name}" for name in str(tag[pointer]).split())
    for link in article.find_all("a", href=True):
        _turn_inwards(link, page, built / "book")
    article.name = "section"
    article.attrs = {"class": "chapter", "id": page}
    return article


def fit_sheets(article: Tag) -> None:
    """Tell pdf.css the heights of drawings, and which cells may go on over the page: from `LONG` lines on."""
    for image in article.select("figure img[height]"):
        image["style"] = f"--height: {image['height']}px"
    for cell in article.select("div.cell_input"):
        if len(cell.get_text().strip().splitlines()) >= LONG:
            cell["class"].append("long")


def _soup(built: Path, page: str) -> BeautifulSoup:
    return BeautifulSoup((built / "book" / f"{page}.html").read_text(encoding="utf-8"), "html.parser")


def _turn_inwards(link: Tag, page: str, pages: Path) -> None:
    """Point a link at its place in the file; keep only the words of a link to what is not in it."""
    address = urlsplit(link["href"])
    if address.scheme:
        return
    target = Path(address.path).stem if address.path else page
    if address.path not in {"", f"{target}.html"} or not (pages / f"{target}.html").is_file():
        link.unwrap()
    else:
        link["href"] = f"#{target}--{address.fragment}" if address.fragment else f"#{target}"


def front(built: Path, toc: Path) -> tuple[str, str]:
    """The table of contents, its numbers still to be filled in, and the running head of each chapter."""
    contents, heads = [], []
    for caption, names in parts(toc):
        rows = []
        for name in names:
            title = _soup(built, name).find("h1")
            for link in title.select(".headerlink"):
                link.decompose()
            words = title.get_text(" ", strip=True)
            link = f'<a href="#{name}">{html.escape(words)}</a>'
            rows.append(f'<li>{link}<span class="sheet">{{{name}}}</span></li>')
            head = json.dumps(words, ensure_ascii=False)  # in CSS, too, a string in quotation marks
            heads.append(f"@page {name} {{ @top-right {{ content: {head} }} }} #{name} {{ page: {name} }}")
        contents.append(f"<p>{html.escape(caption)}</p><ol>{''.join(rows)}</ol>")
    return "".join(contents), "\n".join(heads)


def document(built: Path, contents: str, chapters: str, heads: str, kind: str) -> str:
    """A page of HTML with the styles of the built pages, their MathJax, and those for paper."""
    any_page, place = _soup(built, "intro"), built.resolve().as_uri()
    styles = "".join(
        f'<link rel="stylesheet" href="{place}/book/{link["href"].split("?")[0]}">'
        for link in any_page.find_all("link", rel="stylesheet")
    )
    own = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    mathjax = next(script for script in any_page.find_all("script") if "window.MathJax" in script.get_text())
    return (
        f'<!doctype html><html lang="en" data-theme="light" data-mode="light"><head><meta charset="utf-8">'
        f"<title>{TITLE}</title>{styles}<style>{own}{heads}</style>{mathjax}"
        f'<script defer src="{place}/_static/mathjax/tex-svg.js"></script></head><body class="{kind}">'
        f'<section class="title-page"><p class="book-title">{TITLE}</p>'
        "<p>Ba, Kiros and Hinton, <cite>Layer Normalization</cite> (2016), run.</p></section>"
        f'<nav class="book-contents"><h1>Contents</h1>{contents}</nav><main>{chapters}</main></body></html>'
    )


def print_book(built: Path, toc: Path, out: Path) -> None:
    """Write the PDF: print the book, then lay the numbers of the sheets over its table of contents."""
    out.parent.mkdir(parents=True, exist_ok=True)
    names = [name for _, pages in parts(toc) for name in pages]
    contents, heads = front(built, toc)
    blank = re.sub(r"\{\w+\}", "", contents)
    chapters = "".join(str(chapter(name, built)) for name in names)
    printed, numbers = out.with_suffix(".printed.pdf"), out.with_suffix(".numbers.pdf")
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=executable(), args=list(ARGUMENTS)) as browser,
    ):
        page = browser.new_page(viewport={"width": 680, "height": 960})  # the text width of pdf.css
        page.set_default_timeout(PATIENCE_MS)
        headings = _print(page, document(built, blank, chapters, heads, "book"), printed)
        filled = contents.format(**first_sheets(printed, names))
        bare = "@page { @top-left { content: none } @bottom-center { content: none } }"
        _print(page, document(built, filled, "", bare, "numbers"), numbers, tagged=False)
    writer = PdfWriter(clone_from=printed)
    for sheet, over in zip(writer.pages, PdfReader(numbers).pages, strict=False):
        sheet.merge_page(over)
    _name_outline(writer, headings)
    writer.add_metadata({"/Title": TITLE})
    writer.write(out)
    for partial in (printed, numbers):
        partial.unlink()


def _print(page: Page, text: str, out: Path, *, tagged: bool = True) -> list[str]:
    """Print HTML from a file beside `out`, and return the words of its headings."""
    source = out.with_suffix(".html")
    source.write_text(text, encoding="utf-8")
    page.goto(source.resolve().as_uri())
    page.emulate_media(media="print")
    page.wait_for_function("window.MathJax && MathJax.startup && MathJax.startup.promise")
    page.evaluate("MathJax.startup.promise")
    if clipped := page.evaluate(CLIPPED):
        raise SystemExit("wider than the paper:\n" + "\n".join(clipped[:20]))
    if bad := page.locator(".math:not(:has(mjx-container)), mjx-merror").all_text_contents():
        raise SystemExit(f"{len(bad)} formulas were not typeset: {bad[:5]}")
    page.pdf(path=out, prefer_css_page_size=True, print_background=tagged, outline=tagged, tagged=tagged)
    source.unlink()
    return page.locator("h1, h2, h3, h4, h5, h6").all_inner_texts()


def first_sheets(pdf: Path, names: list[str]) -> dict[str, int]:
    """The number, counted from 1, of the sheet that each page of the book begins on."""
    with PdfReader(pdf) as reader:
        found = reader.named_destinations
        return {name: reader.get_destination_page_number(found[f"/{name}"]) + 1 for name in names}


def _name_outline(writer: PdfWriter, headings: list[str]) -> None:
    """Write the headings into the bookmarks: Chromium doubles one that it moved to another sheet."""
    marks = list(_marks(writer.root_object["/Outlines"]))
    for mark, heading in zip(marks, headings, strict=True):
        mark[NameObject("/Title")] = TextStringObject(" ".join(heading.split()))


def _marks(parent: DictionaryObject) -> Iterator[DictionaryObject]:
    mark = parent.get("/First")
    while mark is not None:
        yield mark.get_object()
        yield from _marks(mark.get_object())
        mark = mark.get_object().get("/Next")


if __name__ == "__main__":
    printed = ROOT / "_build" / "pdf" / "layer-normalization-executed.pdf"
    print_book(ROOT / "_build" / "html", ROOT / "_toc.yml", printed)
    print(printed)

"""The whole book as one PDF: the articles of the built pages in one file, printed by headless Chromium.

`make pdf` runs `python book/_ext/pdf.py`. Nothing is executed again. The pages have styles for paper, which
open what is folded; here every address inside the book is led to its place in the file.
"""

import os
import shutil
from collections.abc import Iterator
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from bs4 import BeautifulSoup, Tag
from playwright.sync_api import sync_playwright
from pypdf import PdfWriter
from pypdf.generic import DictionaryObject, NameObject, TextStringObject

ROOT = Path(__file__).resolve().parents[2]
TITLE = "Layer Normalization, executed"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE_MS = 600_000  # for what never comes; a busy machine may take its time
DROPPED = "script, style, template, a.headerlink, a.ink-light, button, .pst-js-only, .drawn-data"
POINTERS = ("id", "for", "aria-labelledby", "aria-describedby", "aria-controls")
# What would be cut off at the edge of the paper: wider than the place it stands in.
CLIPPED = """() => [...document.querySelectorAll("pre, table, img, svg, p, li, dd, h1, h2, h3, h4")]
  .filter(e => e.getClientRects().length && (e.getBoundingClientRect().right > innerWidth + 1
    || (e.matches("pre, p, li, dd") && e.scrollWidth > e.clientWidth + 1)))
  .map(e => `${e.closest(".chapter")?.id}: <${e.tagName}> ${e.textContent.trim().slice(0, 60)}`)"""


def executable() -> str | None:
    """This machine's Chromium: what `LNLIB_CHROMIUM` names, else the first on the path, else Playwright's."""
    return os.environ.get("LNLIB_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)


def pages(toc: Path) -> list[str]:
    """The names of the pages in the order of the table of contents."""
    listed = yaml.safe_load(toc.read_text(encoding="utf-8"))
    chapters = [chapter["file"] for part in listed["parts"] for chapter in part["chapters"]]
    return [Path(name).name for name in (listed["root"], *chapters)]


def chapter(page: str, built: Path) -> Tag:
    """The article of a built page, with the page's name before each of its ids and in its links."""
    article = _soup(built, page).find("article")
    for tag in article.select(DROPPED):
        tag.decompose()
    for image in article.find_all("img"):
        image.attrs.pop("loading", None)  # nobody scrolls there
    for tag in article.find_all(True):
        for pointer in tag.attrs.keys() & set(POINTERS):
            tag[pointer] = " ".join(f"{page}--{name}" for name in str(tag[pointer]).split())
    for link in article.find_all("a", href=True):
        address = urlsplit(link["href"])
        target = Path(address.path or f"{page}.html")
        if address.scheme:
            continue
        if (built / "book" / target).is_file() and target.suffix == ".html":
            link["href"] = f"#{target.stem}--{address.fragment}" if address.fragment else f"#{target.stem}"
        else:
            link.unwrap()  # a file beside the page
    article.name = "section"
    article.attrs = {"class": "chapter", "id": page}
    return article


def document(chapters: list[Tag], built: Path) -> str:
    """One page of HTML, beside the built ones: their styles, those for paper, MathJax, the chapters."""
    head = _soup(built, "intro").head
    links = "".join(map(str, head.find_all("link", rel="stylesheet")))
    mathjax = next(script for script in head.find_all("script") if "window.MathJax" in script.get_text())
    own = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    titles = ((c["id"], " ".join(c.h1.get_text(" ", strip=True).split())) for c in chapters)
    contents = "".join(f'<li><a href="#{name}">{escape(title)}</a></li>' for name, title in titles)
    return (
        f'<!doctype html><html lang="en" data-theme="light" data-mode="light"><head><meta charset="utf-8">'
        f"<title>{TITLE}</title>{links}<style>{own}</style>{mathjax}"
        f'<script defer src="../_static/mathjax/tex-svg.js"></script></head><body>'
        f'<section class="title-page"><p class="book-title">{TITLE}</p>'
        "<p>Ba, Kiros and Hinton, <cite>Layer Normalization</cite> (2016), run.</p></section>"
        f'<nav class="book-contents"><h1>Contents</h1><ol>{contents}</ol></nav>'
        f"<main>{''.join(map(str, chapters))}</main></body></html>"
    )


def print_book(built: Path, toc: Path, out: Path) -> None:
    """Write the PDF, with a bookmark a heading; fails where anything is wider than the paper."""
    out.parent.mkdir(parents=True, exist_ok=True)
    source = built / "book" / "printed.html"
    source.write_text(document([chapter(page, built) for page in pages(toc)], built), encoding="utf-8")
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=executable()) as browser:
        page = browser.new_page(viewport={"width": 680, "height": 960})  # the text width of pdf.css
        page.set_default_timeout(PATIENCE_MS)
        page.goto(source.resolve().as_uri())
        source.unlink()
        page.emulate_media(media="print")
        page.wait_for_function("window.MathJax && MathJax.startup && MathJax.startup.promise")
        page.evaluate("MathJax.startup.promise")
        if clipped := page.evaluate(CLIPPED):
            raise SystemExit("wider than the paper:\n" + "\n".join(clipped[:20]))
        page.pdf(path=out, prefer_css_page_size=True, print_background=True, outline=True, tagged=True)
        headings = page.locator("h1, h2, h3, h4, h5, h6").all_inner_texts()
    writer = PdfWriter(clone_from=out)
    for mark, heading in zip(_marks(writer.root_object["/Outlines"]), headings, strict=True):
        mark[NameObject("/Title")] = TextStringObject(
            " ".join(heading.split())
        )  # Chromium doubles a moved one
    writer.write(out)


def _marks(parent: DictionaryObject) -> Iterator[DictionaryObject]:
    """The bookmarks under one, each before those under it."""
    mark = parent.get("/First")
    while mark is not None:
        yield mark.get_object()
        yield from _marks(mark.get_object())
        mark = mark.get_object().get("/Next")


def _soup(built: Path, page: str) -> BeautifulSoup:
    return BeautifulSoup((built / "book" / f"{page}.html").read_text(encoding="utf-8"), "html.parser")


if __name__ == "__main__":
    printed = ROOT / "_build" / "pdf" / "layer-normalization-executed.pdf"
    print_book(ROOT / "_build" / "html", ROOT / "_toc.yml", printed)
    print(printed)

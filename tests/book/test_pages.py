"""The built HTML: nothing remote, nothing broken, nothing unlabelled."""

import re
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from bs4 import BeautifulSoup
from built import html, moved, pages
from figures import pixels

from lnbook.figures.palette import INK, INK_DARK
from lnbook.ledger.report import report
from lnbook.ledger.tables import marked
from lnbook.ledger.verdicts import Verdict, judge

pytestmark = pytest.mark.pages
BOOK = Path(__file__).resolve().parents[2] / "book"
# Addresses that a page may load or run code from: none but files beside it.
LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "video": "src"}


@cache
def soup(page: Path) -> BeautifulSoup:
    return BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")


def chapters() -> list[Path]:
    return [p for p in pages() if p.stem.startswith("sec")]


def test_no_page_loads_anything_from_another_host():
    remote = [
        (page.name, tag.name, tag[attribute])
        for page in html().rglob("*.html")
        for name, attribute in LOADING.items()
        for tag in soup(page).find_all(name)
        if attribute in tag.attrs
        and not (tag.name == "link" and not {"stylesheet", "icon", "preload"} & set(tag.get("rel", [])))
        and urlsplit(tag[attribute]).scheme in {"http", "https"}
    ]
    assert not remote
    for page in html().rglob("*.html"):
        inline = " ".join(s.get_text() for s in soup(page).find_all("script") if "src" not in s.attrs)
        assert not re.search(r"unpkg\.com|cdn\.", inline), page.name


def test_every_image_has_an_alt_text_and_every_figure_describes_its_numbers():
    for page in pages():
        content = soup(page).article
        for image in content.find_all("img"):
            assert image.get("alt", "").strip(), f"{page.name}: {image.get('src')} has no alt text"
        for figure in content.find_all("figure"):
            assert figure.find("figcaption"), f"{page.name}: a figure has no caption"
            for image in figure.find_all("img"):
                assert len(image["alt"]) >= 40, f"{page.name}: {image['alt']!r} does not describe the figure"
                assert re.search(r"\d", image["alt"]), f"{page.name}: {image['alt']!r} has no numbers"


def test_every_figure_has_a_twin_for_the_dark_theme_and_keeps_its_place_until_it_loads():
    for page in chapters():
        for figure in soup(page).find_all("figure"):
            (light,) = figure.select("img.ink-dark")
            (dark,) = figure.select("img.ink-light")
            bright, drawn = ((page.parent / image["src"]).read_text("utf-8") for image in (light, dark))
            assert INK_DARK in drawn
            assert INK not in drawn
            assert INK_DARK not in bright
            assert (int(light["width"]), int(light["height"])) == pixels(bright)
        pictures = soup(page).select("article figure img")
        assert [p.get("loading") for p in pictures[2:]] == ["lazy"] * len(pictures[2:]), page.name


def test_every_local_link_leads_to_a_file_and_an_anchor_that_exist():
    ids = {p: {t["id"] for t in soup(p).find_all(id=True)} for p in html().rglob("*.html")}
    broken = []
    for page in ids:
        for link in soup(page).find_all("a", href=True):
            parts = urlsplit(link["href"])
            if parts.scheme or link["href"] in {"#", ""}:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            missing = parts.fragment and target in ids and parts.fragment not in ids[target]
            if missing or not target.is_file():
                broken.append((page.name, link["href"]))
    assert not broken


def test_the_address_of_a_page_that_was_folded_into_another_leads_there():
    for old, new in moved().items():
        assert f'url={new}"' in (html() / "book" / f"{old}.html").read_text("utf-8")
        assert (html() / "book" / new) in pages(), new


def test_no_page_shows_a_traceback_a_warning_or_an_unresolved_reference_skips_a_heading_or_is_heavy():
    for page in pages():
        levels = [int(tag.name[1]) for tag in soup(page).article.find_all(re.compile("^h[1-6]$"))]
        assert levels[0] == 1, page.name
        assert page.stat().st_size < 600 * 1024, page.name
        assert all(b - a <= 1 for a, b in pairwise(levels)), (
            f"{page.name} skips a level of headings: {levels}"
        )
        text = soup(page).article.get_text(" ")
        for sign in ("Traceback (most recent", "Warning:", "{numref}", "{eq}", "{glue:", "[??]", "stderr"):
            assert sign not in text, f"{page.name} shows {sign!r}"
        assert not soup(page).article.select(".stderr, .problematic, .system-message"), page.name


def test_every_chapter_carries_its_badge_line_and_its_executed_notebook_without_a_path_of_this_machine():
    for page in chapters():
        top, foot = soup(page).select(".badge-line")
        assert "Paper:" in top.get_text(), page.name
        for part in ("executed", "data:", "lnlib", "torch", "Python"):
            assert part in foot.get_text(), f"{page.name} lacks {part!r}"
        links = [a["href"] for a in foot.find_all("a")]
        assert links[-2:] == [f"notebooks/{page.stem}.ipynb", f"data/{page.stem}.csv"]
        text = (page.parent / links[-2]).read_text(encoding="utf-8")
        assert any(cell.get("outputs") for cell in nbformat.reads(text, as_version=4).cells)
        assert str(BOOK.parent) not in text


def test_a_glossary_word_carries_its_definition():
    word = soup(html() / "book" / "sec3_layer_normalization.html").select_one("a[href*='#term-layer-norm']")
    assert "over the units of a layer" in word["title"]


def test_a_card_has_the_verdict_of_the_record_and_leads_to_its_rule():
    known = report(BOOK)
    rules = {rule.id: rule for rule in known.rules}
    for page in chapters():
        for card in soup(page).select(".result"):
            rule = rules[card["data-rule"]]
            assert rule.page == page.stem
            if rule.sampled:
                badge = card.select_one(".verdict").get_text()
                assert badge == judge(rule, known.found.get(rule.id)).word, rule.id
            assert card.a["href"] == f"ledger.html#{rule.id}"


def test_the_ledger_has_every_sentence_and_every_rule_with_its_verdict():
    known = report(BOOK)
    page = soup(html() / "book" / "ledger.html")
    for judged in known.sentences:
        (said,) = page.select(f"#{judged.sentence.id}")
        word = marked(Verdict(judged.verdict.word), judged.sentence.id in known.younger)
        assert said.summary.select(".verdict")[-1].parent.get_text() == word
    for rule in known.rules:
        (shown,) = page.select(f"#{rule.id}")
        text, flag = shown.get_text(), known.flags.get(rule.id, "")
        assert rule.quantity in text
        assert marked(judge(rule, known.found.get(rule.id)), rule.id in known.younger) + flag in text, rule.id

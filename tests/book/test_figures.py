"""Figures in pages: when they load, their dark twins, and which a phone would make too small to read."""

from pathlib import Path

import figures
import pytest
from browser import launch
from bs4 import BeautifulSoup
from lnlib_book import finish_doctree, mend_html
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from lnbook.figures.plots import _svg, subplots


def drawing(width: float) -> str:
    fig, ax = subplots(figsize=(width, 3))
    ax.set_xlabel("updates")
    return _svg(fig, "toy")


def test_a_wide_drawing_has_letters_that_a_phone_makes_too_small_and_a_narrow_one_has_not():
    assert figures.smallest_letters(drawing(7.2)) < figures.READABLE <= figures.smallest_letters(drawing(5))


def test_a_dark_twin_has_the_ground_of_its_page_when_it_is_opened_alone():
    twin = figures.dark_twin(drawing(5))
    assert twin.count(f'<svg style="background:{figures.GROUND_DARK}"') == 1
    assert "style" not in drawing(5).partition("<svg ")[2].partition(">")[0]


@pytest.fixture
def page(tmp_path) -> Path:
    """A tiny page of three drawings, far apart, built by Sphinx with the book's two steps."""
    source, out = tmp_path / "source", tmp_path / "html"
    (source / "jupyter_execute").mkdir(parents=True)
    far, text = ".. raw:: html\n\n   <div style='height:9000px'></div>\n\n", "Tiny\n====\n\n"
    for inches in (3, 4, 5):
        (source / "jupyter_execute" / f"{inches}.svg").write_text(drawing(inches), encoding="utf-8")
        text += f".. figure:: jupyter_execute/{inches}.svg\n   :alt: {inches} inches\n\n   Wide.\n\n{far}"
    (source / "index.rst").write_text(text, encoding="utf-8")
    with patch_docutils(), docutils_namespace():
        app = Sphinx(source, None, out, tmp_path, "html", {"html_theme": "basic"}, status=None)
        app.lnlib_runs = {}
        app.connect("doctree-read", finish_doctree, priority=400)
        app.connect("html-page-context", mend_html)
        app.build()
    assert app.statuscode == 0
    style = "<style>.ink-light { display: none } img { max-width: 100%; height: auto }</style>"
    built = out / "index.html"
    built.write_text(style + built.read_text(encoding="utf-8"), encoding="utf-8")
    return built


def test_pictures_load_late_but_for_the_first_and_say_how_large_they_are(page):
    pictures = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser").find_all("img")
    assert [p.get("loading") for p in pictures] == [None] * 2 + ["lazy"] * 4  # each and its dark twin
    sizes = [(p["width"], p["height"]) for p in pictures]
    assert sizes == [(str(96 * inches), "288") for inches in (3, 4, 5) for _ in range(2)]


@pytest.mark.browser
def test_a_picture_far_below_waits_for_the_reader_and_moves_nothing_when_it_comes(page):
    with launch() as chromium, chromium.open_page(page) as (tab, errors, failed):
        state = "[...document.querySelectorAll('img.ink-dark')].map(i => [i.complete && i.naturalWidth > 0])"
        assert tab.evaluate(state) == [[True], [False], [False]]
        height = tab.evaluate("document.documentElement.scrollHeight")
        for picture in tab.locator("img.ink-dark").all():
            picture.scroll_into_view_if_needed()
            picture.evaluate("image => image.decode()")
        assert tab.evaluate(state) == [[True]] * 3
        assert tab.evaluate("document.documentElement.scrollHeight") == height
        assert not errors + failed

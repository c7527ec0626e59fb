"""The built pages in headless Chromium, opened as files: complete, quiet, accessible, at home on a phone."""

from pathlib import Path

import pytest
from browser import accessibility_issues, choose, overflow, thin
from built import html

pytestmark = pytest.mark.browser
SOURCES = Path(__file__).resolve().parents[2] / "book"
PAGES = sorted(f.stem for f in SOURCES.iterdir() if f.suffix in {".md", ".ipynb"})
THEMES = ("light", "dark")

# What is folded is opened to be measured.
SCROLLING_CODE = """() => {
  for (const folded of document.querySelectorAll("article details")) folded.open = true;
  return [...document.querySelectorAll("article .cell_input pre")]
    .filter(code => code.scrollWidth > code.clientWidth + 1).map(code => code.innerText.split("\\n")[0]);
}"""
WIDE_FORMULAS = """() => [...document.querySelectorAll("article div.math mjx-container")]
  .filter(formula => formula.scrollWidth > formula.clientWidth + 1)
  .map(formula => `${formula.scrollWidth} of ${formula.clientWidth} px below "${
    formula.closest("section")?.querySelector("h1, h2, h3")?.innerText}"`)"""
# Drawings with letters that cannot be read where they are fitted to a phone; a scrolling figure keeps them.
SHRUNK = """() => [...document.querySelectorAll("article figure img.wide")]
  .filter(image => image.offsetParent && image.clientWidth < Math.min(image.naturalWidth, 540))
  .map(image => image.src)"""
# Where the page's first picture ends.
FIRST_PICTURE = (
    """() => document.querySelector("article :is(figure, .lnlib-figure)").getBoundingClientRect().bottom"""
)
# A picture far below waits until a reader comes near.
LOADED_WIDTH = """image => { image.loading = "eager";
  return image.decode().then(() => image.naturalWidth, () => 0) }"""


def rendered(page) -> None:
    """Wait until MathJax has typeset the page."""
    page.wait_for_function("!window.MathJax || (MathJax.startup && MathJax.startup.promise)")
    page.evaluate("window.MathJax ? MathJax.startup.promise : null")


def complaints(page) -> list[str]:
    """What is wrong with a page that is open on a wide screen; it ends dark and as narrow as a phone."""
    formulas, typeset = page.locator(".math").count(), page.locator(".math mjx-container").count()
    found = [f"{formulas} formulas, {typeset} are typeset"] if typeset < formulas else []
    found += [f"MathJax: {e.inner_text()}" for e in page.locator("mjx-merror").all()]
    for theme in THEMES:
        choose(page, theme)
        found += [f"{theme}: {problem}" for problem in figure_problems(page, theme)]
    found += [f"code scrolls sideways: {line}" for line in page.evaluate(SCROLLING_CODE)]
    found += [f"a formula scrolls sideways: {which}" for which in page.evaluate(WIDE_FORMULAS)]
    page.set_viewport_size({"width": 390, "height": 844})
    found += [f"it scrolls sideways by {overflow(page)} px on a phone"] if overflow(page) > 0 else []
    found += [f"code scrolls sideways on a phone: {line}" for line in page.evaluate(SCROLLING_CODE)]
    found += [f"{name} is shrunk on a phone" for name in page.evaluate(SHRUNK)]
    return found


def figure_problems(page, theme: str) -> list[str]:
    shown = page.evaluate("document.documentElement.dataset.theme")
    found = [] if shown == theme else [f"the theme is {shown}"]
    for figure in page.locator("article figure").all():
        name = figure.get_attribute("id")
        visible = [i for i in figure.locator("img").all() if i.is_visible()]
        found += [f"{name} shows {len(visible)} drawings"] if len(visible) != 1 else []
        empty = [i for i in visible if i.evaluate(LOADED_WIDTH) == 0]
        found += [f"{name}: {i.get_attribute('src')} is empty" for i in empty]
        caption = figure.locator("figcaption")
        found += [f"{name} shows no caption"] if not (caption.count() and caption.is_visible()) else []
    return found


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_quiet_and_accessible_in_both_themes_and_fits_a_phone(chromium, name, pytestconfig):
    """One visit, which tells all that it finds. Without --slow axe looks at every other page in the dark."""
    slow = pytestconfig.getoption("--slow")
    themes = THEMES if slow else (THEMES[PAGES.index(name) % 2],)
    with chromium.open_page(html() / "book" / f"{name}.html") as (page, errors, failed):
        rendered(page)
        found = []
        if name.startswith(("sec", "appendix", "beyond")) and (SOURCES / f"{name}.ipynb").is_file():
            bottom = page.evaluate(FIRST_PICTURE)
            found += [f"its first picture ends at {bottom:.0f} px"] if bottom > 900 else []
        found += complaints(page)
        found += [f"console: {error}" for error in errors] + [f"not loaded: {url}" for url in failed]
        # after the console was read: axe reads style sheets in ways that a file forbids
        page.set_viewport_size({"width": 1280, "height": 900})
        thin(page)
        for theme in themes:
            choose(page, theme)
            found += [f"{theme}: {issue}" for issue in accessibility_issues(page)]
    assert not found, "\n".join([f"{name}.html:", *found])


def test_a_first_visit_is_quiet(chromium):
    """A reader who has chosen no theme yet; the other tests choose one."""
    with chromium.open_page(html() / "book" / "intro.html", theme=None) as (page, errors, _):
        rendered(page)
        assert errors == []


def test_a_page_on_paper_is_light_opens_what_is_folded_and_leaves_out_what_needs_a_screen(chromium):
    path = html() / "book" / "sec3_layer_normalization.html"
    with chromium.open_page(path, theme="dark", width=680) as (page, _, _):
        rendered(page)
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        for solution in page.locator("details.hide pre").all():
            assert solution.is_visible()
        for figure in page.locator("article figure").all():
            assert figure.locator("img.ink-dark").is_visible()
            assert not figure.locator("img.ink-light").is_visible()
        assert page.locator(".lnlib-figure table").first.is_visible()
        assert overflow(page) <= 0
        wide = "[...document.querySelectorAll('article pre')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        assert page.evaluate(f"{wide}.length") == 0
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_ledger_is_filtered_by_verdict_page_and_words_and_its_address_says_how(chromium):
    with chromium.open_page(html() / "book" / "ledger.html", width=390) as (page, errors, _):
        form, lines = page.locator(".ledger-filter"), page.locator(".ledger .strip")

        def seen() -> list:
            left = [line for line in lines.all() if line.is_visible()]
            assert form.locator("output").inner_text() == f"{len(left)} of {lines.count()} lines"
            return left

        form.get_by_label("verdict").select_option("error in print")
        assert {line.locator("summary .verdict").inner_text() for line in seen()} == {"error in print"}
        assert page.url.endswith("?verdict=error+in+print")
        page.reload()
        assert 0 < len(seen()) < lines.count()
        form.get_by_role("button").click()
        form.get_by_label("measured on").select_option("sec5_1_invariance")
        form.get_by_label("search").fill("table 1")
        assert seen()
        assert all("table 1" in line.text_content().lower() for line in seen())
        page.goto(page.url.partition("?")[0] + "#s51-table1")
        assert page.locator("#s51-table1").is_visible()
        assert errors == []


def test_the_search_works_from_files_without_a_network_and_finds_an_equation_first_by_its_number(chromium):
    address = (html() / "search.html").as_uri() + "?q=equation+13"
    with chromium.open_page(address, offline=True) as (page, errors, failed):
        first = page.locator("#search-results li a").first
        first.wait_for()
        assert first.get_attribute("href").startswith("book/sec5_2_geometry.html")
        assert first.get_attribute("href").endswith("#equation-eq-13")
        first.click()
        page.wait_for_selector("article h1")
        assert errors == []
        assert failed == []

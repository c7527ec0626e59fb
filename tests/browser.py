"""Headless Chromium for tests of pages: opens files, and records what a page complains about."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from pdf import executable
from playwright.sync_api import sync_playwright

PATIENCE_MS = 600_000  # for what never comes; a busy machine may take its time
# sphinx-book-theme reads the reader's choice of theme from here; other pages follow the colour scheme.
CHOOSE_THEME = "try {{ localStorage.mode = localStorage.theme = '{theme}' }} catch (blocked) {{}}"


@dataclass
class Chromium:
    """A running browser."""

    browser: Any

    @contextmanager
    def open_page(
        self,
        path: Path | str,
        width: int = 1280,
        height: int = 900,
        theme: str | None = "light",
        **context: Any,
    ) -> Iterator[tuple[Any, list[str], list[str]]]:
        """Open a file (or URL) and yield the page, its console errors and its failed requests, as they grow.

        `theme` is "light", "dark" or, where nobody chose, None; `context` goes to playwright's `new_context`.
        """
        url = path.resolve().as_uri() if isinstance(path, Path) else path
        viewport = {"width": width, "height": height}
        session = self.browser.new_context(viewport=viewport, color_scheme=theme, **context)
        if theme and context.get("java_script_enabled", True):
            session.add_init_script(CHOOSE_THEME.format(theme=theme))
        page = session.new_page()
        page.set_default_timeout(PATIENCE_MS)
        errors: list[str] = []
        failed: list[str] = []
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("requestfailed", lambda request: failed.append(request.url))
        try:
            page.goto(url)
            yield page, errors, failed
        finally:
            session.close()


@contextmanager
def launch() -> Iterator[Chromium]:
    """Start the system's Chromium; where there is none, skip the test, or fail (LNLIB_REQUIRE_BROWSER=1)."""
    if executable() is None:
        refuse = pytest.fail if os.environ.get("LNLIB_REQUIRE_BROWSER") == "1" else pytest.skip
        refuse("Chromium is not installed: apt-get install chromium, or name one by LNLIB_CHROMIUM")
    with sync_playwright() as playwright, playwright.chromium.launch(executable_path=executable()) as browser:
        yield Chromium(browser)


def accessibility_issues(page: Any, impacts: tuple[str, ...] = ("serious", "critical")) -> list[str]:
    """What axe-core finds on the page: "rule: element" for every element of the given impacts."""
    options = {"resultTypes": ["violations"]}
    return [
        f"{violation['id']}: {node['target']} {node['failureSummary']}"
        for violation in Axe().run(page, options=options).response["violations"]
        for node in violation["nodes"]
        if node["impact"] in impacts
    ]


# Two words of code are alike if they and all around them have the same names and classes, which is by what
# style sheets color them. The glyphs of a formula are paths, in the color of the text around it.
THIN = """() => {
  const seen = new Set(), again = [];
  for (const word of document.querySelectorAll("pre span")) {
    let kind = "";
    for (let e = word; e.localName !== "body"; e = e.parentElement)
      kind += `${e.localName} ${e.className} ${e.getAttribute("style")}<`;
    seen.has(kind) ? again.push(word) : seen.add(kind);
  }
  for (const word of again) word.replaceWith(...word.childNodes);
  for (const formula of document.querySelectorAll("mjx-container svg")) formula.replaceChildren();
}"""


def thin(page: Any) -> None:
    """Leave one of each kind of colored word of code, and no glyphs: axe sees 3,000 elements, not 9,000."""
    page.evaluate(THIN)


def choose(page: Any, theme: str) -> None:
    """Switch the theme of a page of the book, as a reader does, who has a button for it."""
    page.emulate_media(color_scheme=theme)
    press = "document.querySelector('.theme-switch-button').click()"
    for _ in ("light", "dark", "auto"):
        if page.evaluate("document.documentElement.dataset.mode") != theme:
            page.evaluate(press)
    page.evaluate("document.getAnimations().forEach(a => a instanceof CSSTransition && a.finish())")


def overflow(page: Any) -> int:
    """How many pixels the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

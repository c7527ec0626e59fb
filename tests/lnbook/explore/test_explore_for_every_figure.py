"""What every interactive figure keeps to in a browser: themes, a phone, keys, neighbors, print, no scripts.

What only one figure has, its numbers and its controls, is in `test_explore_reader.py`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import accessibility_issues, overflow
from explorable import THEMED, TOO_WIDE

from lnbook.explore import FIGURES, builder
from lnbook.explore.element import Element

# Other data that a figure takes, with how far its panels may scroll sideways on a phone, in pixels.
OTHERS: dict[str, list[tuple[dict[str, Any], int]]] = {name: [({"seed": 1}, 0)] for name in FIGURES} | {
    "axis_flip": [
        ({"a": np.eye(12)[:, :10] * 9}, 79),
        ({"a": np.random.default_rng(0).normal(size=(12, 8))}, 0),
        ({"a": [[5.0]]}, 0),
    ],
    "gain_and_bias": [
        ({"a": [1.0, 300.0]}, 0),
        ({"a": [-1234.5, 1.0, 2.0, 3.0, 4.0, 1e6]}, 0),
        ({"a": [0.001, 0.002, 0.0]}, 0),
        ({"a": [5.0, 5.0]}, 0),
    ],
}
# The buttons and choices that color a figure anew.
LOOKS = {
    "axis_flip": ("none", "batch norm", "layer norm"),
    "case_scale": ("A twentieth, with ε",),
    "fisher_ellipse": ("no norm", "batch norm", "layer norm, one row"),
    "five_reductions": (
        "Batch norm",
        "Layer norm over C, H, W",
        "Instance norm",
        "Group norm",
        "Layer norm over C",
        "NTC",
    ),
    "invariance_playground": ("Negative δ", "Frozen statistics", "Small variance beside ε", "Reset"),
    "recurrent_drift": ("It fades", "High gain"),
    "residual_depth": ("last", "first"),
    "writing": ("two waves more",),
}
# What these say may be a line longer, which moves what is below; the last one's only where sliders end.
MOVES = ("axis_flip", "five_reductions", "invariance_playground")
PRESETS_ONLY = ("recurrent_drift",)

# Calls `look` in every state of a section that a reader finds: each choice of the first row with each of the
# others, each button, both ends of each slider.
TRY = """(section, look, sliders = true) => {
  const all = (selector) => [...section.querySelectorAll(selector)];
  const [first, ...others] = all("fieldset").map((row) => [...row.querySelectorAll("[type=radio]")]);
  for (const choice of first ?? []) for (const other of [choice, ...others.flat()]) { other.click(); look(); }
  for (const button of all("button, [type=checkbox]")) { button.click(); look(); }
  for (const slider of sliders ? all("[type=range]") : []) for (const end of [slider.max, slider.min]) {
    slider.value = end; slider.dispatchEvent(new Event("input")); look();
  }
}"""
WRONG = f"""(section, scroll) => {{
  const wrong = new Set(), page = document.documentElement;
  const all = (selector) => [...section.querySelectorAll(selector)];
  ({TRY})(section, () => {{
    if (page.scrollWidth > page.clientWidth) wrong.add("the page scrolls sideways");
    for (const part of all(".panels"))
      if (part.scrollWidth - part.clientWidth > scroll) wrong.add("the panels scroll sideways");
    if (/NaN/.test(section.innerHTML)) wrong.add("NaN");
    for (const text of ({TOO_WIDE})(all("td, th, label, .bars span, .case p, .own b, .key span, .cell")))
      if (!/e−\\d{{3}}/.test(text)) wrong.add("too wide: " + text);  // 1e−100 and less: steps that fade
  }});
  if (all(".plot").some((plot) => plot.clientWidth <= 280)) wrong.add("a narrow plot");
  for (const target of all("button, label, [role=gridcell][tabindex]")) {{
    const {{ width, height }} = target.getBoundingClientRect();
    if (Math.min(width, height) < 24) wrong.add("small: " + target.textContent);  // WCAG 2.2, target size
  }}
  return [...wrong];
}}"""
TOPS = f"""(section, sliders) => {{
  const tops = new Set(), find = (selector) => section.querySelector(selector);
  const part = find(".panels") ?? find(".none, .pictures, svg");
  ({TRY})(section, () => tops.add(part.getBoundingClientRect().top + scrollY), sliders);
  return [...tops];
}}"""

CHANGE = """section => {
  for (const slider of section.querySelectorAll("[type=range]")) {
    slider.value = slider.min; slider.dispatchEvent(new Event("input"));
  }
  [...section.querySelectorAll("[type=radio]")].at(-1)?.click();
}"""
# What a section shows and how its controls stand.
STATES = """sections => sections.map((section) => [section.innerHTML.replaceAll(' aria-busy="true"', ""),
  ...[...section.querySelectorAll("input")].map(({ checked, value }) => `${checked} ${value}`)].join())"""
# What the tab key stops at: every control, and one of each group of radio buttons or cells.
STOPS = """section => [...section.querySelectorAll("button, input, [tabindex='0']")]
  .filter((node) => node.type !== "radio" || node.checked)"""
TABLE = ".lnlib-figure > table"  # where scripts do not run, and in print
each_figure = pytest.mark.parametrize("name", FIGURES)


@cache
def made(name: str) -> Element:
    """The figure of that name with what it draws itself."""
    return builder(name)()


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("host", ["own page", "themed page"])
@each_figure
def test_the_figure_is_accessible_in_light_and_dark(chromium, tmp_path, name, host, theme):
    file, system = written(tmp_path, made(name)), theme
    if host == "themed page":  # whose choice wins over the system's
        given, _ = OTHERS[name][0]
        file = written(tmp_path, builder(name)(**given), theme=theme)
        system = {"light": "dark", "dark": "light"}[theme]
    with chromium.open_page(file, theme=system, reduced_motion="reduce") as (page, errors, failed):
        for look in LOOKS.get(name, ()):
            control = page.get_by_role("radio", name=look, exact=True)
            control = control.or_(page.get_by_role("button", name=look, exact=True))
            control.evaluate("control => control.click()")
            assert accessibility_issues(page) == []
        for end in ("End", "Home"):
            for slider in page.get_by_role("slider").all():
                slider.press(end)
            assert accessibility_issues(page) == []
        assert (errors, failed) == ([], [])


PHONES = [(name, given, scroll) for name in FIGURES for given, scroll in [({}, 0), *OTHERS[name]]]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "given", "scroll"), PHONES, ids=[f"{n}-{k}" for k, (n, *_) in enumerate(PHONES)]
)
def test_a_phone_shows_the_figure_without_sideways_scrolling(chromium, tmp_path, name, given, scroll):
    file = written(tmp_path, builder(name)(**given))
    with chromium.open_page(file, width=390, height=844, has_touch=True) as (page, errors, failed):
        assert page.locator("section").evaluate(WRONG, scroll) == []
        assert (errors, failed) == ([], [])


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FIGURES if name not in MOVES])
def test_what_is_drawn_stays_where_it_is_when_the_text_changes(chromium, tmp_path, name):
    with chromium.open_page(written(tmp_path, made(name))) as (page, _, _):
        for width in (390, 760, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            assert len(page.locator("section").evaluate(TOPS, name not in PRESETS_ONLY)) == 1, width
            assert overflow(page) == 0, width


@pytest.mark.browser
@each_figure
def test_figures_share_a_page_and_a_cell_can_run_again(chromium, tmp_path, name):
    first, second = made(name), builder(name)(seed=1)
    file = written(tmp_path, first, second, first, theme="light")
    with chromium.open_page(file, reduced_motion="reduce") as (page, errors, failed):
        sections = page.locator("section")
        assert sections.count() == 3
        before = sections.evaluate_all(STATES)
        assert before[0] == before[2]
        sections.nth(1).evaluate(CHANGE)
        after = sections.evaluate_all(STATES)
        assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, True]
        assert (errors, failed) == ([], [])


@pytest.mark.browser
@each_figure
def test_the_keyboard_reaches_every_control_and_the_arrows_move_it(chromium, tmp_path, name):
    with chromium.open_page(written(tmp_path, made(name))) as (page, _, _):
        sections = page.locator("section")
        for k in range(sections.evaluate(f"section => ({STOPS})(section).length")):
            page.keyboard.press("Tab")
            at = f"(section, k) => ({STOPS})(section)[k] === section.getRootNode().activeElement"
            assert sections.evaluate(at, k)
            focused = sections.evaluate_handle("section => section.getRootNode().activeElement")
            if focused.get_property("type").json_value() in ("range", "radio"):
                before = sections.evaluate_all(STATES)
                page.keyboard.press("ArrowRight")
                if sections.evaluate_all(STATES) == before:  # at its end
                    page.keyboard.press("ArrowLeft")
                assert sections.evaluate_all(STATES) != before


@pytest.mark.browser
@each_figure
def test_without_scripts_and_in_print_the_table_is_there(chromium, tmp_path, name):
    file = written(tmp_path, made(name))
    with chromium.open_page(file, java_script_enabled=False) as (page, _, _):
        assert page.locator(TABLE).is_visible()
        assert page.locator("tr").count() == made(name).fallback.count("<tr>")
    with chromium.open_page(file) as (page, _, _):
        assert not page.locator(TABLE).is_visible()
        page.emulate_media(media="print")
        assert page.locator(TABLE).is_visible()
        assert not page.get_by_role("slider").first.is_visible()


def written(folder: Path, *figures: Element, theme: str = "") -> Path:
    """One figure as a page of its own, or figures on a page that has a theme."""
    path = folder / "page.html"
    page = figures[0].to_html()
    if theme:
        page = THEMED.format(theme=theme, figures="".join(figure._repr_html_() for figure in figures))
    path.write_text(page, encoding="utf-8")
    return path

"""What every interactive figure keeps to in a browser: themes, phones, keys, neighbors, print, no scripts."""

from __future__ import annotations

import numpy as np
import pytest
from browser import accessibility_issues
from explorable import ALL, made, written

from lnbook.explore import builder

pytestmark = pytest.mark.browser
each_figure = pytest.mark.parametrize("name", ALL)

# The buttons and choices that color a figure anew.
LOOKS: dict[str, tuple[str, ...]] = {
    "axis_flip": ("none", "batch norm", "layer norm"),
    "fisher_ellipse": ("no norm", "batch norm", "layer norm, one row"),
    "five_reductions": ("Batch norm", "Instance norm", "Group norm", "Layer norm over C", "NTC"),
    "invariance_playground": ("Negative δ", "Frozen statistics", "Small variance beside ε", "Reset"),
    "recurrent_drift": ("It fades", "High gain"),
    "residual_depth": ("last", "first"),
    "writing": ("two waves more",),
}
# In every state of a section that a reader finds (each choice of the first row with each of the others, each
# button, both ends of each slider): what does not fit on a phone, or is no number.
WRONG = """(section, scroll) => {
  const all = (selector) => [...section.querySelectorAll(selector)];
  const wrong = new Set(), page = document.documentElement;
  const width = (cell) => {
    const text = document.createRange(); text.selectNodeContents(cell);
    return text.getBoundingClientRect().width - cell.getBoundingClientRect().width;
  };
  function look() {
    if (page.scrollWidth > page.clientWidth) wrong.add("the page scrolls sideways");
    for (const part of all(".panels"))
      if (part.scrollWidth - part.clientWidth > scroll) wrong.add("the panels scroll sideways");
    if (/NaN/.test(section.innerHTML)) wrong.add("NaN");
    for (const cell of all("td, th, label, .bars span, .own b, .key span, .cell"))
      if (width(cell) > 1 && !/e−\\d{3}/.test(cell.textContent))  // 1e−100 and less: steps that fade
        wrong.add("too wide: " + cell.textContent);
  }
  const [first, ...others] = all("fieldset").map((row) => [...row.querySelectorAll("[type=radio]")]);
  for (const choice of first ?? []) for (const other of [choice, ...others.flat()]) { other.click(); look(); }
  for (const button of all("button, [type=checkbox]")) { button.click(); look(); }
  for (const slider of all("[type=range]")) for (const end of [slider.max, slider.min]) {
    slider.value = end; slider.dispatchEvent(new Event("input")); look();
  }
  if (all(".plot").some((plot) => plot.clientWidth <= 280)) wrong.add("a narrow plot");
  for (const target of all("button, label, [role=gridcell][tabindex]")) {
    const { width, height } = target.getBoundingClientRect();
    if (Math.min(width, height) < 24) wrong.add("small: " + target.textContent);  // WCAG 2.2, target size
  }
  return [...wrong];
}"""
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


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
@each_figure
def test_the_figure_is_accessible_in_light_and_dark(chromium, tmp_path, name, theme):
    system = {"light": "dark", "dark": "light"}[theme]  # the page's choice wins over the system's
    file = written(tmp_path, made(name), theme=theme)
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


@pytest.mark.slow
@each_figure
def test_a_phone_shows_the_figure_without_sideways_scrolling(chromium, tmp_path, name):
    figures = [(made(name), 0)]
    if name == "axis_flip":  # its panels may scroll
        figures += [(builder(name)(np.eye(12)[:, :10] * 9), 79), (builder(name)([[5.0]]), 0)]
    if name == "gain_and_bias":
        figures += [(builder(name)([-1234.5, 1.0, 2.0, 3.0, 4.0, 1e6]), 0), (builder(name)([5.0, 5.0]), 0)]
    for figure, scroll in figures:
        file = written(tmp_path, figure)
        with chromium.open_page(file, width=390, height=844, has_touch=True) as (page, errors, failed):
            assert page.locator("section").evaluate(WRONG, scroll) == []
            assert (errors, failed) == ([], [])


@each_figure
def test_figures_share_a_page_and_a_cell_can_run_again(chromium, tmp_path, name):
    file = written(tmp_path, *(made(name, seed) for seed in (0, 1, 0)), theme="light")
    with chromium.open_page(file, reduced_motion="reduce") as (page, errors, failed):
        sections = page.locator("section")
        before = sections.evaluate_all(STATES)
        assert before[0] == before[2]
        sections.nth(1).evaluate(CHANGE)
        after = sections.evaluate_all(STATES)
        assert [one == other for one, other in zip(before, after, strict=True)] == [True, False, True]
        assert (errors, failed) == ([], [])


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


@each_figure
def test_without_scripts_and_in_print_the_table_is_there(chromium, tmp_path, name):
    file = written(tmp_path, made(name))
    with chromium.open_page(file, java_script_enabled=False) as (page, _, _):
        assert page.locator(TABLE).is_visible()
    with chromium.open_page(file) as (page, _, _):
        assert not page.locator(TABLE).is_visible()
        page.emulate_media(media="print")
        assert page.locator(TABLE).is_visible()
        assert not page.get_by_role("slider").first.is_visible()

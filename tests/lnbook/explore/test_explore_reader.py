"""What a reader meets in a browser: the numbers and the words of each figure follow its controls."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from explorable import made, written

from lnbook.pages.sec4_related_work.reductions import normalize
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import layer_norm, rms_norm

pytestmark = pytest.mark.browser

CLICK = "control => control.click()"
# What a reader presses, chooses or sets, in turn, and what the figure then says. That the numbers in these
# words are lnlib's is held in `test_explore_formulas.py`, of the functions that compute them.
SAID: dict[str, list[tuple[str, str, str, str]]] = {
    "axis_flip": [
        ("radio", "none", "", "Select a cell, change it"),
        ("button", "Increase the selected cell", "", "1 of 48 outputs moved, all in case 2."),
        ("radio", "batch norm", "", "Batch norm reads down the column"),
        ("button", "Increase the selected cell", "", "6 of 48 outputs moved, in 6 cases."),
        ("radio", "layer norm", "", "Layer norm reads along the row"),
        ("button", "Increase the selected cell", "", "8 of 48 outputs moved, all in case 2."),
        ("slider", "Batch size", "1", "so one case is enough"),
        ("radio", "batch norm", "", "Batch norm has nothing to read."),
    ],
    "fisher_ellipse": [
        ("radio", "no norm", "", "the metric is ×1.00 across w, ×1.00 along it."),
        ("radio", "batch norm", "", "the metric is ×0.25 across w, 0 along it."),
        ("radio", "layer norm, whole W", "", "the Fisher ellipse is open, a strip"),
        ("radio", "layer norm, one row", "", "the metric is ×0.75 across w, ×0.34 along it."),
    ],
    "five_reductions": [
        ("radio", "Batch norm", "", "12 numbers share a mean"),
        ("radio", "Layer norm over C, H, W", "", "16 numbers share a mean"),
        ("radio", "Instance norm", "", "4 numbers share a mean"),
        ("radio", "Group norm", "", "8 numbers share a mean"),
        ("radio", "NTC", "", "NTC: a.unflatten(2, (2, 2)).mean"),
    ],
    "gain_and_bias": [
        ("button", "Then twice as loud", "", ""),
        ("button", "Give the case back", "", "Gain and bias give this case back."),
    ],
    "invariance_playground": [
        ("button", "Negative δ", "", "2 hold, 8 flip the sign."),
        ("button", "Small variance beside ε", "", "4 hold, 6 fail."),
        ("button", "Frozen statistics", "", "6 hold, 4 fail."),
        ("button", "Reset", "", "all hold."),
    ],
    "offset": [
        ("button", "No offset", "", "No offset yet"),
        ("button", "Large offset", "", "Adding 3.0 to every component turns a by"),
        ("button", "Offset that makes the mean 0", "", "both normalizations give the same."),
        ("checkbox", "", "", "With centered weights, RMSNorm is layer norm."),
    ],
    "projection": [
        ("button", "Along â", "", "Nothing passes: the gradient is along â."),
        ("slider", "Gradient along 1", "-0.5", "Nothing passes: the gradient is along â and 1."),
        ("button", "Along the circle", "", "All of it passes, divided by σ = 1.50."),
        ("button", "Small case", "", "σ = 0.50 makes it longer"),
        ("button", "All three", "", "P deletes what is along â and 1."),
    ],
    "recurrent_drift": [
        ("button", "It explodes", "", "Plain states explode, layer-normalized states hold."),
        ("button", "High gain", "", "explodes, ×1.28 a step. Try a smaller g."),
        ("button", "Weak weights", "", "fades, ×0.41 a step. Try a larger s/u."),
    ],
    "residual_depth": [
        ("radio", "first", "", "Depth 64, first block: pre-LN"),
        ("radio", "last", "", "Depth 64, last block: pre-LN"),
        ("button", "Draw again", "", "Depth 64, last block: pre-LN"),
    ],
}


@pytest.mark.parametrize("name", SAID)
def test_the_figure_says_what_the_reader_has_done(chromium, tmp_path, name):
    with chromium.open_page(written(tmp_path, made(name))) as (page, errors, failed):
        for role, control, value, words in SAID[name]:
            found = page.get_by_role(role, name=control or None, exact=role != "slider")
            found.fill(value) if value else found.evaluate(CLICK)
            page.locator("[role=status]:not([aria-busy])").wait_for()  # what waits until the reader pauses
            assert words in page.get_by_role("status").inner_text()
        assert (errors, failed) == ([], [])


def given(name: str, key: str = "a") -> torch.Tensor:
    return torch.tensor(made(name).state[key], dtype=torch.float64)


WANTED = {
    "axis_flip": lambda: batch_norm(given("axis_flip")),
    "gain_and_bias": lambda: layer_norm(given("gain_and_bias"), eps=0.0),
    "offset": lambda: rms_norm(given("offset", "W") @ given("offset", "x") + 3, eps=0.0),
    "five_reductions": lambda: normalize(given("five_reductions"), "batch", groups=2, eps=1e-5),
}


@pytest.mark.parametrize(
    ("name", "press", "cells"),
    [
        ("axis_flip", "Reset all values", "[role=table] .cell"),
        ("gain_and_bias", "Then twice as loud", ".hat .bars span"),
        ("offset", "Large offset", "div.rms .bars span"),
        ("five_reductions", "", "[role=gridcell]"),
    ],
)
def test_the_cells_and_bars_show_what_lnlib_computes(chromium, tmp_path, name, press, cells):
    with chromium.open_page(written(tmp_path, made(name))) as (page, _, _):
        if press:
            page.get_by_role("button", name=press, exact=True).click()
        else:
            page.get_by_role("radio", name="Batch norm", exact=True).evaluate(CLICK)
            page.get_by_role("checkbox").evaluate(CLICK)
        shown = [float(text.replace("−", "-")) for text in page.locator(cells).all_inner_texts()]
        np.testing.assert_allclose(shown, WANTED[name]().flatten(), atol=0.0501)  # one or two decimals


def test_the_projections_arrow_is_dragged_and_its_parts_follow_in_tenths(chromium, tmp_path):
    with chromium.open_page(written(tmp_path, made("projection"))) as (page, _, _):
        page.get_by_role("slider", name="Place on the circle").fill("0")
        box = page.locator(".plane svg").bounding_box()
        at = [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
        unit = box["width"] / 7.1  # the picture is 2 * 3.55 wide
        page.mouse.move(at[0] + unit * 3**0.5, at[1])  # the output, where the arrow begins
        page.mouse.down()
        page.mouse.move(at[0] + unit * (3**0.5 - 0.5), at[1] - 1.2 * unit)
        page.mouse.up()
        page.mouse.move(*at)  # released, it stays
        parts = ("the circle", "â")
        values = [page.get_by_role("slider", name=f"Gradient along {part}").input_value() for part in parts]
        assert values == ["1.2", "-0.5"]


def test_strokes_play_once_and_can_be_stopped_and_dragged(chromium, tmp_path):
    with chromium.open_page(written(tmp_path, made("strokes"))) as (page, _, _):
        page.wait_for_function(
            "document.querySelector('.lnlib-figure').shadowRoot.querySelector('input').value == 6"
        )
        page.get_by_role("button", name="Play").click()
        page.get_by_role("button", name="Pause").click()
        assert int(page.get_by_role("slider").input_value()) < 6
        page.get_by_role("slider").fill("2")
        assert page.get_by_text("2 of 6").is_visible()


def test_writing_a_reader_chooses_the_sentence_and_the_bias(chromium, tmp_path):
    with chromium.open_page(written(tmp_path, made("writing"))) as (page, _, _):
        page.get_by_role("radio", name="two waves more").check()
        page.get_by_role("slider").fill("0")
        label = page.get_by_role("img").get_attribute("aria-label")
        assert "“two waves more” as the network wrote it, bias 0" in label
        page.get_by_role("button", name="Write").click()
        drawn = "document.querySelector('.lnlib-figure').shadowRoot.querySelector('path').getAttribute('d')"
        page.wait_for_function(f"{drawn}.split('L').length > 170")

"""The strokes: the script's own arithmetic, and the figure in a browser."""

import base64

import numpy as np
import pytest
from explorable import evaluate

from lnbook.explore.strokes import strokes

FIGURE = strokes  # of the fixture `file`


def test_the_script_finds_the_pixels_that_the_builder_packed():
    pictures = np.random.default_rng(0).integers(0, 256, (3, 2, 4, 4)) / 255
    state = strokes(pictures, np.zeros((3, 2, 3))).state
    ink = list(base64.b64decode(state["ink"]))
    found = evaluate("strokes", f"Array.from(frame({{shape: [3, 2, 4]}}, Uint8Array.from({ink}), 2, 1))")
    assert found == np.round(255 * pictures[2, 1]).ravel().tolist()


def test_each_glimpse_lasts_as_long_and_the_last_one_stays():
    found = evaluate("strokes", "[0, 99, 100, 250, 399, 1e6].map((ms) => glimpseAt(ms, 100, 4))")
    assert found == [0, 0, 1, 2, 3, 3]


@pytest.mark.browser
def test_it_plays_once_and_can_be_stopped_and_dragged(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        slider = page.get_by_role("slider")
        page.wait_for_function(
            "document.querySelector('.lnlib-figure').shadowRoot.querySelector('input').value == 6"
        )
        page.get_by_role("button", name="Play").click()
        page.get_by_role("button", name="Pause").click()
        stopped = slider.input_value()
        slider.fill("2")
        assert int(stopped) < 6
        assert page.get_by_text("2 of 6").is_visible()

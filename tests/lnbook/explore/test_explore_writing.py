"""Handwriting to choose: the script's arithmetic, and the figure in a browser."""

import numpy as np
import pytest
from explorable import evaluate

from lnbook.explore.writing import writing

FIGURE = writing  # of the fixture `file`
LINE = [np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[10.0, -2.0]])]


def test_the_script_finds_the_points_that_the_builder_packed():
    state = writing({"a": {0.0: LINE}}).state
    found = [evaluate("writing", f"unpack({numbers})") for numbers in state["lines"][0][0]]
    assert found == [[[0, 0], [300, -400]], [[1000, 200]]]  # 10 wide becomes 1000, y turns downward


def test_the_pen_has_drawn_so_many_points():
    drawn = evaluate("writing", "[0, 1, 2, 9].map((count) => trace([[[0, 0], [3, 4]], [[10, 2]]], count))")
    assert drawn == ["", "M0 0h0", "M0 0L3 4", "M0 0L3 4M10 2h0"]


def test_the_frame_holds_all_points_and_an_empty_line_has_one_too():
    assert evaluate("writing", "bounds([[[0, 0], [3, 4]], [[10, -2]]], 1)") == [-1, -3, 12, 8]
    assert evaluate("writing", "bounds([], 1)") == [0, 0, 1, 1]


def test_without_scripts_a_table_says_what_was_written_and_sentences_are_escaped():
    text = writing({"a < b": {0.0: LINE, 2.0: []}})._repr_html_()
    assert "a &lt; b" in text
    assert "2 strokes, 3 points" in text
    assert "<th>bias 2</th>" in text


@pytest.mark.browser
def test_a_reader_chooses_the_sentence_and_the_bias(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        picture = page.get_by_role("img")
        assert "“one wave” as the network wrote it, bias 2" in picture.get_attribute("aria-label")
        page.get_by_role("radio", name="two waves more").check()
        page.get_by_role("slider").fill("0")
        assert "“two waves more” as the network wrote it, bias 0" in picture.get_attribute("aria-label")
        page.get_by_role("button", name="Write").click()
        drawn = "document.querySelector('.lnlib-figure').shadowRoot.querySelector('path').getAttribute('d')"
        page.wait_for_function(f"{drawn}.split('L').length > 170")

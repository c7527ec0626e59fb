"""What every interactive figure keeps to: the same bytes each time, few, and nothing from elsewhere."""

from collections.abc import Callable

import numpy as np
import pytest
from explorable import NETWORK

from lnbook.explore import FIGURES as ALL
from lnbook.explore import builder
from lnbook.explore.element import source

KB = 1024
FIGURES: dict[str, tuple[Callable, str, int]] = {  # builder, title, most bytes of the element
    "axis_flip": (builder("axis_flip"), "The axis flip", 16 * KB),
    "invariance_playground": (builder("invariance_playground"), "The invariance playground", 18 * KB),
    "strokes": (builder("strokes"), "Stroke by stroke", 12 * KB),
    "writing": (builder("writing"), "Handwriting", 14 * KB),
    "case_scale": (builder("case_scale"), "Case scale", 16 * KB),
    "gain_and_bias": (builder("gain_and_bias"), "Gain and bias", 15 * KB),
    "offset": (builder("offset"), "The offset", 22 * KB),
    "fisher_ellipse": (builder("fisher_ellipse"), "The Fisher ellipse", 26 * KB),
    "five_reductions": (builder("five_reductions"), "Five reductions", 21 * KB),
    "residual_depth": (builder("residual_depth"), "Residual depth", 20 * KB),
    "recurrent_drift": (
        builder("recurrent_drift"),
        "Recurrent drift",
        26 * KB,
    ),  # carries a matrix and inputs
}
SVG = "http://www.w3.org/2000/svg"  # the name of SVG's elements is spelled as an address, which nothing opens
each_figure = pytest.mark.parametrize("name", FIGURES)


@each_figure
def test_the_figure_is_the_same_each_time_and_carries_no_ids(name):
    build, title, _ = FIGURES[name]
    assert build()._repr_html_() == build()._repr_html_()
    assert build(seed=1)._repr_html_() != build(seed=0)._repr_html_()
    assert " id=" not in build()._repr_html_()
    assert repr(build()) == f"<interactive figure: {title}>"


@each_figure
def test_the_figure_is_small_and_asks_the_network_for_nothing(name):
    build, _, most = FIGURES[name]
    figure = build()._repr_html_()
    assert len(source(f"{name}.js").encode()) < 10 * KB
    assert len(figure.encode()) <= most
    assert [word for word in NETWORK if word in figure.replace(SVG, "")] == []


def test_the_axis_flip_stays_small_with_the_largest_data_it_takes():
    largest = builder("axis_flip")(np.random.default_rng(0).normal(size=(12, 10)))
    assert len(largest._repr_html_().encode()) <= 19 * KB


def test_every_interactive_figure_is_held_to_this():
    assert set(FIGURES) == set(ALL)


def test_a_script_as_inlined_keeps_the_spaces_of_a_template_inside_a_template():
    assert '"the only case" : `all ${size} cases`}, at every position`' in source("five_reductions.js")

"""What every interactive figure keeps to: the same bytes each time, few, and nothing from elsewhere."""

import numpy as np
import pytest
from explorable import NETWORK

from lnbook.explore import FIGURES, builder

KB = 1024
MOST = 32 * KB  # of one figure in a page; recurrent_drift carries a matrix and inputs
SVG = "http://www.w3.org/2000/svg"  # the name of SVG's elements is spelled as an address, which nothing opens
each_figure = pytest.mark.parametrize("name", FIGURES)


@each_figure
def test_the_figure_is_the_same_each_time_and_carries_no_ids(name):
    build = builder(name)
    assert build()._repr_html_() == build()._repr_html_()
    assert build(seed=1)._repr_html_() != build(seed=0)._repr_html_()
    assert " id=" not in build()._repr_html_()


@each_figure
def test_the_figure_is_small_and_asks_the_network_for_nothing(name):
    figure = builder(name)()._repr_html_()
    assert len(figure.encode()) <= MOST
    assert [word for word in NETWORK if word in figure.replace(SVG, "")] == []


def test_the_axis_flip_stays_small_with_the_largest_data_it_takes():
    largest = builder("axis_flip")(np.random.default_rng(0).normal(size=(12, 10)))
    assert len(largest._repr_html_().encode()) <= MOST

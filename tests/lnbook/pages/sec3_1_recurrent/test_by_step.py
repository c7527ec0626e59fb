"""How far the summed inputs of two steps are apart."""

import pytest
import torch

from lnbook import data
from lnbook.pages.sec3_1_recurrent import by_step
from lnbook.pages.sec3_1_recurrent.measure import Streams, reader


def test_samples_of_one_distribution_are_close_and_of_another_scale_are_not():
    a, b = torch.randn(2, 500, 20, generator=torch.Generator().manual_seed(0))
    assert by_step.between(a, b) == pytest.approx(0.87 * (2 / 500) ** 0.5, rel=0.25)
    assert by_step.between(a, 2 * b) == pytest.approx(0.16, abs=0.04)  # of two normal distributions


def test_a_network_that_forgets_at_once_does_not_change():
    streams, draw = Streams(data.load("digits"), "test"), torch.Generator().manual_seed(0)
    x, _ = streams.draw(50, 500, draw)
    without, strong = (by_step.change(reader("none", f, 0).rnn, x) for f in (0.0, 4.0))
    assert by_step.EARLY % streams.side == by_step.LATE % streams.side  # the same row of an image
    assert without < 0.06  # sampling alone
    assert strong > 2 * without

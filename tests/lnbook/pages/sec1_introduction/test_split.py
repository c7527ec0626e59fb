"""How far two updates are apart; that those of parts are those of processes is checked on the page."""

import numpy as np
import pytest

from lnbook.pages.sec1_introduction import split


def test_perpendicular_updates_are_90_degrees_apart():
    assert split.apart(*np.eye(2)) == pytest.approx((2**0.5, 90))

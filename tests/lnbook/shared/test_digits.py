"""The digits that small networks learn."""

import pytest

from lnbook.shared.digits import digits


def test_digits_are_centered_and_of_unit_size_and_kept_apart():
    (x, y), (x_test, y_test) = digits()
    assert float(x.mean(0).abs().max()) < 1e-5  # float32, over 1318 cases
    assert float(x.square().mean()) == pytest.approx(1, abs=1e-5)
    assert (len(x), len(x_test)) == (len(y), len(y_test)) == (1318, 360)

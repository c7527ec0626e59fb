"""Intervals over seeds are Student's, and one measurement has none."""

import numpy as np
import pytest

from lnbook.ledger.intervals import interval


def test_the_interval_is_students_and_one_measurement_has_none() -> None:
    mean, low, high = interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert high - mean == pytest.approx(mean - low) == pytest.approx(4.302652729911275 / np.sqrt(3))
    with pytest.raises(ValueError, match="at least 2"):
        interval([1.0])

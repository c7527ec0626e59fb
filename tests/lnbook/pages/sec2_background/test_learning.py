"""A drift that is put back into batch norm."""

import numpy as np
import pytest
import torch

from lnbook.pages.sec2_background.learning import drifting
from lnbook.shared.shift import train


@pytest.fixture
def cases() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.rand(600, 12, generator=torch.Generator().manual_seed(0))
    return x, (x[:, 0] * 10).long().clamp(max=9)


@pytest.mark.parametrize("held", [False, True])
def test_a_drift_is_put_back_update_by_update_or_at_its_end(cases, held) -> None:
    plain = train(cases, 3, rate=0.3, updates=6, units=8)
    other = train(cases, 3, drifting(plain, held=held), rate=0.0, updates=6, units=8)
    first = plain.received[:1]
    moved = (plain.received - [[[[1.0], [0.0]]]] * first) / first[:, :, 1:]  # from mean 0 and deviation 1
    expected = np.broadcast_to(moved[-1:], moved.shape) if held else moved
    # float32; batch norm's epsilon and the deviation's n - 1 change it by less than 1 %
    np.testing.assert_allclose(other.received, expected, rtol=0.02, atol=1e-3)

"""Units that move as the layer below learns, on generated cases, and a drift that is put back."""

import numpy as np
import pytest
import torch

from lnbook.pages.beyond_covariate_shift import moves
from lnbook.shared.shift import train


@pytest.fixture
def cases() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.rand(300, 12, generator=torch.Generator().manual_seed(0))
    return x, (x[:, 0] * 10).long().clamp(max=9)


def test_a_change_is_what_the_lower_layers_move_does_to_the_old_upper_one(cases) -> None:
    generator = torch.Generator().manual_seed(1)
    lower, upper = (torch.randn(7, n, generator=generator) / n**0.5 for n in (12, 7))
    found = []
    for steps, random in ((0, False), (3, False), (3, True)):
        a, change = moves.change_above(cases, lambda a: a, seed=1, H=7, steps=steps, random=random)
        torch.testing.assert_close(a, cases[0] @ lower.T @ upper.T)
        found.append(torch.linalg.lstsq(cases[0], change @ torch.linalg.inv(upper.T)).solution)
    still, learned, control = found
    assert still.norm() == 0 < learned.norm()
    # float32, through an inverse
    assert float(control.norm()) == pytest.approx(float(learned.norm()), rel=1e-3)
    assert torch.cosine_similarity(learned.flatten(), control.flatten(), dim=0).abs() < 0.5


def test_a_drift_is_put_back_update_by_update(cases) -> None:
    plain = train(cases, 3, rate=0.3, updates=6, units=8)
    other = train(cases, 3, moves.drifting(plain), rate=0.0, updates=6, units=8)
    first = plain.received[:1]
    expected = (plain.received - [[[[1.0], [0.0]]]] * first) / first[:, :, 1:]  # from mean 0 and deviation 1
    # float32; batch norm's epsilon and the deviation's n - 1 change it by less than 1 %
    np.testing.assert_allclose(other.received, expected, rtol=0.02, atol=1e-3)

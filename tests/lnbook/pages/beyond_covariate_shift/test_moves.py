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


def test_the_change_is_what_the_new_lower_layer_does_to_the_old_upper_one(cases) -> None:
    (a, still), (again, small), (_, larger) = (
        moves.change_above(cases, torch.relu, seed=1, H=7, steps=steps, random=False) for steps in (0, 3, 6)
    )
    assert torch.equal(a, again)
    assert 0 == still.norm() < small.norm() < larger.norm()


def test_the_control_moves_the_lower_weights_as_far_in_another_direction(cases) -> None:
    generator = torch.Generator().manual_seed(1)
    shapes = (7, 12), (7, 7)
    _, upper = (torch.randn(s, generator=generator, dtype=torch.float32) / s[1] ** 0.5 for s in shapes)
    found = []
    for random in (False, True):
        _, change = moves.change_above(cases, lambda a: a, seed=1, H=7, steps=3, random=random)
        found.append(torch.linalg.lstsq(cases[0], change @ torch.linalg.inv(upper.T)).solution)
    learned, control = found
    # float32, through an inverse
    assert float(control.norm()) == pytest.approx(float(learned.norm()), rel=1e-3)
    assert torch.cosine_similarity(learned.flatten(), control.flatten(), dim=0).abs() < 0.5


@pytest.mark.parametrize("held", [False, True])
def test_a_drift_is_put_back_update_by_update_or_at_its_end(cases, held) -> None:
    plain = train(cases, 3, rate=0.3, updates=6, units=8)
    other = train(cases, 3, moves.drifting(plain, held=held), rate=0.0, updates=6, units=8)
    first = plain.received[:1]
    path = (plain.received - [[[[1.0], [0.0]]]] * first) / first[:, :, 1:]  # from mean 0 and deviation 1
    expected = np.broadcast_to(path[-1:], path.shape) if held else path
    # float32; batch norm's epsilon and the deviation's n - 1 change it by less than 1 %
    np.testing.assert_allclose(other.received, expected, rtol=0.02, atol=1e-3)

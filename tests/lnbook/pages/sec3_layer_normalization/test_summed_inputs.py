"""Section 3's measurements, on generated cases."""

import pytest
import torch

from lnbook.pages.sec3_layer_normalization import summed_inputs


@pytest.fixture
def cases() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.rand(300, 12, generator=torch.Generator().manual_seed(0))
    return x, (x[:, 0] * 10).long().clamp(max=9)


def test_the_change_is_what_the_new_lower_layer_does_to_the_old_upper_one(cases) -> None:
    (a, still), (again, small), (_, larger) = (
        summed_inputs.change_above(cases, torch.relu, seed=1, H=7, steps=steps) for steps in (0, 3, 6)
    )
    assert torch.equal(a, again)
    assert 0 == still.norm() < small.norm() < larger.norm()


def test_the_control_moves_the_lower_weights_as_far_in_another_direction(cases) -> None:
    generator = torch.Generator().manual_seed(1)
    shapes = (7, 12), (7, 7)
    _, upper = (torch.randn(s, generator=generator, dtype=torch.float32) / s[1] ** 0.5 for s in shapes)
    moves = []
    for random in (False, True):
        _, change = summed_inputs.change_above(cases, lambda a: a, seed=1, H=7, steps=3, random=random)
        moves.append(torch.linalg.lstsq(cases[0], change @ torch.linalg.inv(upper.T)).solution)
    learned, control = moves
    # float32, through an inverse
    assert float(control.norm()) == pytest.approx(float(learned.norm()), rel=1e-3)
    assert torch.cosine_similarity(learned.flatten(), control.flatten(), dim=0).abs() < 0.5

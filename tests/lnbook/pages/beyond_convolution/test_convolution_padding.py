"""Zeros reach what is real through every norm that averages over positions, and through no other."""

import pytest
import torch
from torch.nn.functional import conv2d

from lnbook.pages.beyond_convolution.padding import border_change, sequence_change
from lnbook.pages.beyond_convolution.reductions import FIVE

GENERATOR = torch.Generator().manual_seed(0)
STEPS = torch.randn(3, 12, 4, generator=GENERATOR, dtype=torch.float64)
PICTURES = torch.randn(3, 2, 9, 8, generator=GENERATOR, dtype=torch.float64)
KERNELS = torch.randn(4, 2, 5, 5, generator=GENERATOR, dtype=torch.float64)


@pytest.mark.parametrize("norm", FIVE)
def test_padding_reaches_what_is_real_if_the_set_spans_positions(norm):
    change, border = sequence_change(STEPS, norm, 0.5), border_change(PICTURES, KERNELS, norm)
    if "P" in FIVE[norm].over:
        assert change > 0.1
        assert border > 0.01
    else:
        assert change == 0.0
        assert border < 1e-12  # convolutions round differently
    assert sequence_change(STEPS, norm, 0.0) == 0.0


@pytest.mark.parametrize("share", [0.2, 0.5, 0.75])
def test_without_a_mean_the_real_steps_grow_by_a_root(share):
    centered = STEPS - STEPS.mean(1, keepdim=True)
    change = sequence_change(centered, "instance", share)
    assert change == pytest.approx((1 - share) ** -0.5 - 1, rel=1e-4)  # but for eps = 1e-5


def test_the_center_has_the_same_summed_inputs_with_zeros_and_without():
    inside = conv2d(PICTURES, KERNELS, padding=2)[..., 2:-2, 2:-2]
    torch.testing.assert_close(inside, conv2d(PICTURES, KERNELS), rtol=0, atol=1e-12)

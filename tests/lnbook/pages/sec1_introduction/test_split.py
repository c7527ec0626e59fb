"""A batch in parts, in one process: which norm's update depends on the split."""

import numpy as np
import pytest
import torch

from lnbook.pages.sec1_introduction import split


@pytest.mark.parametrize("norm", ["none", "rms", "weight", "layer", "batch"])
def test_a_split_turns_the_update_of_batch_norm_alone(norm):
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(16, 6, generator=generator, dtype=torch.float64)
    model = split.classifier((6, 8, 8, 10), norm)
    whole, *parts = (split.in_parts(model, x, torch.arange(16) % 10, k) for k in (1, 2, 16))
    found = [split.apart(whole, part)[0] for part in parts]
    assert min(found) > 0.1 if norm == "batch" else max(found) < 1e-12
    assert split.apart(*np.eye(2)) == pytest.approx((2**0.5, 90))  # perpendicular

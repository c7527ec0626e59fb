"""Windows as boxes, pictures as they form, and the tightness of the bound."""

import numpy as np
import pytest
import torch

from lnbook import data
from lnbook.pages.sec6_4_draw.experiment import EXPERIMENT, Drawing
from lnbook.pages.sec6_4_draw.model import filterbanks
from lnbook.pages.sec6_4_draw.pictures import box, tightness
from lnbook.training import Machine


def test_a_box_holds_the_points_of_its_window_and_half_a_stride_around() -> None:
    window = torch.tensor([[0.1, -0.3, -4.0, -1.0, 0.0]])
    left, top, width = box(window, 3, 8)[0]
    (bank,) = filterbanks(window[:, None], [3], 8)
    pixel_middles = torch.arange(8) + 0.5
    points = (bank[0] * pixel_middles).sum(-1)  # (3, 2): where the sharp filters look
    stride = 3.5 * np.exp(-1)
    # a blur of 0.14 pixels sees the nearest pixel: half a pixel off at most
    np.testing.assert_allclose(points[:, 0], left + stride * (np.arange(3) + 0.5), atol=0.51)
    np.testing.assert_allclose(points[:, 1], top + stride * (np.arange(3) + 0.5), atol=0.51)
    assert width == pytest.approx(3 * stride, rel=1e-5)


def test_the_tighter_bound_is_lower_and_one_draw_has_nothing_to_tighten() -> None:
    job = EXPERIMENT.jobs("smoke", 0)[1]
    task = EXPERIMENT.task(job, "smoke", Machine())
    assert isinstance(task, Drawing)
    x = torch.from_numpy(data.load("binarized_digits").test_x[:20]).float()
    many = tightness(task, x, 40, torch.Generator().manual_seed(0))
    assert many.shape == (20, 2)
    assert (many[:, 0] - many[:, 1]).mean() > 0
    # one draw: two estimates of one expectation, which differ by the noise of the divergences alone
    single = tightness(task, x, 1, torch.Generator().manual_seed(0))
    spread = (single[:, 0] - single[:, 1]).std() / 20**0.5
    assert abs((single[:, 0] - single[:, 1]).mean()) < 4 * spread

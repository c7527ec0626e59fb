"""The digit one has to wait for."""

import torch

from lnbook.pages.sec4_related_work import waiting_digit as task


def test_each_image_passes_once_and_whole_at_a_random_step() -> None:
    g = torch.Generator().manual_seed(0)
    images = 1 + torch.rand(500, 3, 4, generator=g)
    images[0, 0, 0] = 0.0  # the paper's white
    x = task.waiting(images, 9, g)
    begins = (x != 0).any(2).int().argmax(0)  # the first step with ink of each case
    assert set(begins.tolist()) == set(range(7))
    for case, begin in enumerate(begins):
        assert torch.equal(x[begin : begin + 3, case], images[case])
        assert int((x[:, case] != 0).any(1).sum()) == 3

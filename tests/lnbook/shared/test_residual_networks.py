"""Networks whose blocks are given train together as alone; rooms test what theirs compute."""

import torch

from lnbook.pages.beyond_without.ways import new
from lnbook.shared.digits import digits
from lnbook.shared.residual_networks import scores, train


def test_rates_are_outermost_and_each_network_trains_as_alone():
    cases, _ = digits()
    starts = [new("faded out", 1, 8, seeds) for seeds in ((4, 5), (5,))]
    both, alone = (train(nets, cases, (1e-3, 1e-2), 12) for nets in starts)
    # float32 sums in another order, through 12 steps of Adam
    torch.testing.assert_close(both.out[1::2], alone.out, rtol=0, atol=1e-4)
    torch.testing.assert_close(both.stack["W1"][:, 1::2], alone.stack["W1"], rtol=0, atol=1e-4)
    assert torch.equal(both.stack["sigma"][:, :2], starts[0].stack["sigma"])  # held
    assert scores(both, cases)[0].shape == (2, 2)

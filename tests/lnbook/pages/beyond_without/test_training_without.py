"""Networks of several seeds and rates learn at once, as each would alone."""

import pytest
import torch

from lnbook.pages.beyond_without import training
from lnbook.pages.beyond_without.networks import Method, begin
from lnbook.shared.digits import digits


def branch(u, p):
    return (u @ p["W1"]).relu() @ p["W2"]


PLAIN = Method(lambda x, p: x + branch(x, p))


@pytest.fixture(scope="module")
def cases():
    return digits()[0]


def test_rates_are_outermost_and_each_network_trains_as_alone(cases):
    nets = begin(PLAIN, 1, 8, (4, 5))
    both = training.train(nets, PLAIN, cases, (4, 5), (1e-3, 1e-2), 12)
    alone = training.train(begin(PLAIN, 1, 8, (5,)), PLAIN, cases, (5,), (1e-3, 1e-2), 12)
    # float32 sums in another order, through 12 steps of Adam
    torch.testing.assert_close(both.out[1::2], alone.out, rtol=0, atol=1e-4)
    torch.testing.assert_close(both.stack["W1"][:, 1::2], alone.stack["W1"], rtol=0, atol=1e-4)
    assert training.scores(both, PLAIN, cases, (4, 5)).loss.shape == (2, 2)

"""Deep networks: how far a step moves one, and that they learn, alone as in company, and lose a block."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from lnbook.pages.beyond_transformers import removal
from lnbook.pages.beyond_transformers import residual_gradients as residual
from lnbook.shared.digits import digits
from lnlib.norms import layer_norm

SIZE = 3, 8, 40, 1e-2


def before(x, F, k, L):
    return x + F(layer_norm(x, eps=0.0))


@pytest.fixture(scope="module")
def found():
    train, test = digits()
    return removal.train(before, train, (4, 5), SIZE), train, test


def test_networks_learn_and_their_blocks_cost_what_they_cost_by_hand(found):
    networks, train, test = found
    untrained = removal.train(before, train, (4, 5), (3, 8, 0, 1e-2))
    assert (removal.losses(networks, train) < removal.losses(untrained, train) / 2).all()
    costs = removal.cost(networks, test)
    x = test[0] @ networks.into[1]
    loss = []
    for left_out in (None, 1):  # the second block, from 0
        stream = x
        for number, (W1, W2) in enumerate(networks.blocks):
            if number != left_out:
                stream = stream + (layer_norm(stream, eps=0.0) @ W1[1].T).relu() @ W2[1].T
        logits = layer_norm(stream, eps=0.0) @ networks.out[1]
        loss.append(float(cross_entropy(logits.double(), test[1])))
    assert costs.shape == (2, 3)
    assert costs[1, 1] == pytest.approx(loss[1] - loss[0], abs=1e-4)  # float32


def test_a_network_trains_in_company_as_alone(found):
    networks, train, _ = found
    alone = removal.train(before, train, (5,), SIZE)
    a, b = (removal.losses(n, train) for n in (alone, networks))
    assert a[0] == pytest.approx(b[1], rel=0.02)  # float32 sums in another order, through 40 steps of Adam


def test_a_step_moves_one_block_as_its_derivative_says():
    """Of y = x + F(x): h h^T r for W2, and W2 D W2^T r |x|^2 for W1, with D the active units."""
    found = residual.step_changes(lambda x, F, k, L: x + F(x), (1,), 8, (3,))
    generator = torch.Generator().manual_seed(3)
    x, r = (torch.randn(1, 8, generator=generator, dtype=torch.float64) for _ in range(2))
    x, r = (layer_norm(v, eps=0.0)[0] for v in (x, r))
    ((W1, W2),) = residual.draw(1, 8, generator)
    r, h = r / r.norm(), (W1 @ x).relu()
    change = h.square().sum() * r + (W2[:, h > 0] @ W2[:, h > 0].T @ r) * x.square().sum()
    assert found.item() == pytest.approx(float(change.norm()), rel=1e-3)  # a step of 1e-8 is not 0

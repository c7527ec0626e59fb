"""Deep networks learn, alone as in company, and lose a block."""

import pytest
from torch.nn.functional import cross_entropy

from lnbook.pages.beyond_transformers import removal
from lnbook.pages.beyond_transformers.residual_gradients import PLACES
from lnbook.shared.digits import digits
from lnbook.shared.residual_networks import scores
from lnlib.norms import layer_norm


def test_networks_learn_in_company_as_alone_and_their_blocks_cost_what_they_cost_by_hand():
    train, test = digits()
    networks, alone, untrained = (
        removal.train(PLACES["pre"], train, seeds, (3, 8, updates, 1e-2))
        for seeds, updates in (((4, 5), 40), ((5,), 40), ((4, 5), 0))
    )
    reached, alones, before = (scores(nets, train)[0][0] for nets in (networks, alone, untrained))
    assert (reached < before / 2).all()
    # float32 sums in another order, through 40 steps of Adam
    assert reached[1] == pytest.approx(alones[0], rel=0.02)
    costs = removal.cost(networks, test)
    loss = []
    for left_out in (None, 1):  # the second block, from 0
        stream = test[0] @ networks.into[1]
        for number in {0, 1, 2} - {left_out}:
            W1, W2 = (networks.stack[name][number, 1] for name in ("W1", "W2"))
            stream = stream + (layer_norm(stream, eps=0.0) @ W1.T).relu() @ W2.T
        logits = layer_norm(stream, eps=0.0) @ networks.out[1]
        loss.append(float(cross_entropy(logits.double(), test[1])))
    assert costs.shape == (2, 3)
    assert costs[1, 1] == pytest.approx(loss[1] - loss[0], abs=1e-4)  # float32

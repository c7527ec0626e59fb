"""Residual networks: at initialization as many units predict, and trained, without one block."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from lnbook.pages.beyond_transformers import residual_gradients as residual
from lnbook.shared.digits import digits
from lnbook.shared.residual_networks import scores
from lnlib.norms import layer_norm


def norm(x):
    return layer_norm(x, eps=0.0)


@pytest.mark.parametrize("placement", ["post", "pre", "none", "inside", "output"])
@pytest.mark.parametrize("c", [0.25, 1.0])
def test_gradients_and_random_steps_are_those_that_many_units_predict(placement, c, monkeypatch):
    monkeypatch.setitem(residual.PLACES, "output", lambda x, F, k, L: x + c**0.5 * norm(F(x)))
    monkeypatch.setitem(residual.PLACES, "inside", residual.PLACES["none"])
    if placement == "inside":
        inside = lambda W: lambda u: 2**0.5 * norm(u @ W[0].mT).relu() @ W[1].mT  # noqa: E731
        monkeypatch.setattr(residual, "branch", inside)
    norms = residual.gradient_by_block(placement, 12, 64, range(12), branch=c)
    every = (1 + c * np.arange(1, 13)) ** -0.5
    limits = 4 * {"post": (1 + c) ** -0.5, "none": (1 + c) ** 5.5}.get(placement, every)  # 4: (4 H / N)^(1/2)
    # the mean of 12 networks of 64 units scatters by a few hundredths; over 12 blocks the laws differ by 1.8
    # and more
    assert np.exp(np.log(norms / limits).mean(0)) == pytest.approx(1, abs=0.12)
    # a random step: squared it is O(L) and O(log L), Theorem 2 of Liu et al. (2020)
    depths = np.array([1, 8, 16])
    limits = 2 * c / (1 + c) * depths
    if placement not in ("post", "none"):
        limits = np.cumsum(2 * c / (1 + c * np.arange(1, 17)))[depths - 1]
    moved = residual.output_change(placement, depths.tolist(), 64, range(12), branch=c).mean(0)
    # in deep networks all cases become alike, and one network scatters by a fifth
    assert moved == pytest.approx(limits**0.5, rel=0.15)


def test_a_step_moves_one_block_as_its_derivative_says():
    """Of y = x + F(x): h h^T r for W2, and W2 D W2^T r |x|^2 for W1, with D the active units."""
    found = residual.step_changes(residual.PLACES["none"], (1,), 8, (3,))
    generator = torch.Generator().manual_seed(3)
    x, r = (norm(torch.randn(1, 8, generator=generator, dtype=torch.float64))[0] for _ in range(2))
    W1, W2 = (W[0] for W in residual.draw(1, 8, generator))
    r, h = r / r.norm(), (W1 @ x).relu()
    change = h.square().sum() * r + (W2[:, h > 0] @ W2[:, h > 0].T @ r) * x.square().sum()
    assert found.item() == pytest.approx(float(change.norm()), rel=1e-3)  # a step of 1e-8 is not 0


def test_networks_learn_in_company_as_alone_and_their_blocks_cost_what_they_cost_by_hand():
    train, test = digits()
    networks, alone, untrained = (
        residual.train(residual.PLACES["pre"], train, seeds, 3, 8, updates, 1e-2)
        for seeds, updates in (((4, 5), 40), ((5,), 40), ((4, 5), 0))
    )
    reached, alones, before = (scores(nets, train)[0][0] for nets in (networks, alone, untrained))
    assert (reached < before / 2).all()
    # float32 sums in another order, through 40 steps of Adam
    assert reached[1] == pytest.approx(alones[0], rel=0.02)
    assert networks.stack["number"][:, 0, 0, 0].tolist() == [1, 2, 3]
    costs = residual.cost(networks, test)
    loss = []
    for left_out in (None, 1):  # the second block, from 0
        stream = test[0] @ networks.into[1]
        for number in {0, 1, 2} - {left_out}:
            W1, W2 = (networks.stack[name][number, 1] for name in ("W1", "W2"))
            stream = stream + (norm(stream) @ W1.T).relu() @ W2.T
        logits = norm(stream) @ networks.out[1]
        loss.append(float(cross_entropy(logits.double(), test[1])))
    assert costs.shape == (2, 3)
    assert costs[1, 1] == pytest.approx(loss[1] - loss[0], abs=1e-4)  # float32

"""Stacks of blocks before training: what they add, and how far a step moves them, against what is derived."""

import math

import numpy as np
import pytest
import torch

from lnbook.pages.beyond_depth import drawings, stacks
from lnlib.norms import layer_norm


def norm(x):
    return layer_norm(x, eps=0.0)


def before(x, F, k, L):
    return x + F(norm(x))


def after(x, F, k, L):
    return norm(x + F(x))


def test_a_block_keeps_the_mean_square_on_average():
    (weights,) = stacks.draw(1, 64, torch.Generator().manual_seed(0))
    u = torch.randn(4000, 64, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    # one draw of 64 x 256 weights: the mean square scatters by about a tenth
    assert float(stacks.branch(weights)(u).square().mean()) == pytest.approx(1, abs=0.3)


def test_streams_number_the_blocks_and_can_leave_one_out():
    weights = stacks.draw(3, 4, torch.Generator().manual_seed(0))
    seen = []

    def place(x, F, k, L):
        seen.append((k, L))
        return x + F(x)

    x = torch.ones(2, 4, dtype=torch.float64)
    found = stacks.streams(place, weights, x, without=2)
    assert seen == [(1, 3), (3, 3)]
    assert torch.equal(found[1], found[2])
    expected = found[2] + (found[2] @ weights[2][0].T).relu() @ weights[2][1].T
    torch.testing.assert_close(found[3], expected, rtol=0, atol=1e-13)  # rounding
    whole = stacks.streams(place, weights, x)
    for number, vector in enumerate(stacks.vectors(place, weights, x)):
        assert torch.equal(vector, whole[number + 1] - whole[number])


def test_pre_norm_adds_one_to_the_mean_square_for_each_block():
    found = stacks.added(before, 8, 64, range(12)).mean(0)
    # 12 networks of 64 units: the mean of the first block scatters by 0.06, relative
    assert found / np.arange(1, 9) == pytest.approx(1, abs=0.2)


def test_a_step_moves_one_block_as_its_derivative_says():
    """Of y = x + F(x): h h^T r for W2, and W2 D W2^T r |x|^2 for W1, with D the active units."""
    found = stacks.step_change(lambda x, F, k, L: x + F(x), 1, 8, (3,), rate=1e-6)
    generator = torch.Generator().manual_seed(3)
    x, r = (norm(torch.randn(1, 8, generator=generator, dtype=torch.float64))[0] for _ in range(2))
    ((W1, W2),) = stacks.draw(1, 8, generator)
    r, h = r / r.norm(), (W1 @ x).relu()
    change = h.square().sum() * r + (W2[:, h > 0] @ W2[:, h > 0].T @ r) * x.square().sum()
    assert found.item() == pytest.approx(float(change.norm()), rel=1e-3)  # a step of 1e-6 is not 0


def test_deepnorm_holds_the_step_and_post_norm_lets_it_grow():
    def deepnorm(x, F, k, L):
        return norm(L**0.25 * x + F(x))

    depths, growth = (8, 32), {}
    growth["after"] = [stacks.step_change(after, L, 32, range(6)).mean() for L in depths]
    sizes = [(4 * L) ** -0.25 for L in depths]
    pairs = zip(depths, sizes, strict=True)
    growth["deep"] = [stacks.step_change(deepnorm, L, 32, range(6), size=s).mean() for L, s in pairs]
    assert growth["after"][1] > 2 * growth["after"][0]  # four times the blocks
    assert growth["deep"][1] < 1.3 * growth["deep"][0]
    # 2.25 H: (4 + 1/2) H for each of L blocks, times beta^2 / alpha^2 = 1 / (2 L)
    assert growth["deep"][1] == pytest.approx(2.25 * 32, rel=0.2)


def test_seeds_decide_and_the_global_random_state_is_left_alone():
    state = torch.random.get_rng_state()
    alone, among = stacks.step_change(before, 2, 8, (5,)), stacks.step_change(before, 2, 8, (4, 5))
    assert alone[0] == among[1]
    assert (stacks.added(before, 2, 8, (5,))[0] == stacks.added(before, 2, 8, (4, 5))[1]).all()
    assert torch.equal(state, torch.random.get_rng_state())


def test_size_multiplies_the_weights():
    one, ten = (stacks.draw(1, 8, torch.Generator().manual_seed(0), size) for size in (1.0, 10.0))
    for small, large in zip(one[0], ten[0], strict=True):
        torch.testing.assert_close(large, 10 * small, rtol=1e-14, atol=0)  # one rounding
    assert one[0][0].std().item() == pytest.approx(math.sqrt(2 / 8), rel=0.2)  # 256 numbers: 4 %


@pytest.mark.parametrize(("depth", "width", "said"), [(0, 8, "at least one block"), (2, 3, "at least 4")])
def test_stacks_too_small_are_named(depth, width, said):
    with pytest.raises(ValueError, match=said):
        stacks.draw(depth, width, torch.Generator())


@pytest.mark.parametrize("number", [0, 3])
def test_a_block_that_is_not_there_is_named(number):
    weights = stacks.draw(2, 4, torch.Generator().manual_seed(0))
    with pytest.raises(ValueError, match="blocks 1 to 2"):
        stacks.streams(before, weights, torch.zeros(1, 4, dtype=torch.float64), without=number)


def test_rows_say_name_place_and_interval():
    first, second = drawings.rows((1, 8), {"scaled": np.array([[1.0, 2.0], [2.0, 4.0]])}, logs=False)
    assert (first["name"], first["place"], second["place"], second["mean"]) == ("scaled", 1, 8, 3.0)
    assert second["low"] < 3.0 < second["high"]

"""Networks whose blocks are given: computed as by hand, begun alike; what a first step moves."""

from dataclasses import replace

import pytest
import torch

from lnbook.pages.beyond_without.networks import Method, begin, first_step
from lnbook.training import generators
from lnlib.norms import layer_norm


def branch(u, p):
    return (u @ p["W1"]).relu() @ p["W2"]


def with_gain(p):
    blocks, networks, units, _ = p["W1"].shape
    return {**p, "gain": 2 * p["W1"].new_ones(blocks + 1, networks, 1, units)}


def read(x, p):
    return p["gain"] * layer_norm(x, eps=0.0)


PLAIN = Method(lambda x, p: x + branch(x, p))
LAYERED = Method(lambda x, p: x + branch(read(x, p), p), read, with_gain)


def test_streams_and_logits_are_those_by_hand():
    nets = begin(LAYERED, 2, 8, (3, 4), inputs=5, dtype=torch.float64)
    nets = replace(nets, out=torch.randn(nets.out.shape, generator=torch.Generator().manual_seed(0)).double())
    x = torch.randn(6, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    stream = x @ nets.into[1]
    streams = nets.streams(LAYERED, x)
    for k in range(2):
        torch.testing.assert_close(streams[k][1], stream, rtol=0, atol=1e-12)  # rounding
        hidden = (2 * layer_norm(stream, eps=0.0) @ nets.stack["W1"][k, 1]).relu()
        stream = stream + hidden @ nets.stack["W2"][k, 1]
    expected = 2 * layer_norm(stream, eps=0.0) @ nets.out[1]
    torch.testing.assert_close(nets.logits(LAYERED, x)[1], expected, rtol=0, atol=1e-12)


def test_cases_may_be_each_networks_own():
    nets = begin(PLAIN, 1, 4, (0, 1), inputs=3)
    x = torch.arange(12.0).view(2, 2, 3)
    assert torch.equal(nets.read(PLAIN, x)[1], nets.read(PLAIN, x[1])[1])


def test_a_seed_begins_with_the_same_weights_in_any_company_and_method():
    alone, among = begin(PLAIN, 2, 4, (7,)), begin(LAYERED, 2, 4, (6, 7))
    assert torch.equal(alone.into[0], among.into[1])
    for name in ("W1", "W2"):
        assert torch.equal(alone.stack[name][:, 0], among.stack[name][:, 1])
    assert not among.out.any()


def test_a_plain_block_doubles_the_mean_square_on_average():
    nets = begin(PLAIN, 4, 64, range(8), dtype=torch.float64)
    x = torch.randn(64, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    squares = torch.stack([s.square().mean() for s in nets.streams(PLAIN, x)])
    # 8 networks of 64 units: the mean square of a block scatters by a few percent
    torch.testing.assert_close(squares[1:] / squares[:-1], torch.full((4,), 2.0).double(), rtol=0.15, atol=0)


def test_numbers_that_are_fixed_are_given_to_blocks_and_end():
    method = Method(lambda x, p: x + p["add"], lambda x, p: 10 * x + p["add"])
    add = torch.tensor([1.0, 2.0, 3.0])[:, None, None, None]
    nets = begin(method, 2, 4, (0,), inputs=2).adding(add=add)
    assert nets.depth == 2
    torch.testing.assert_close(nets.read(method, torch.zeros(1, 2)), torch.full((1, 1, 4), 33.0))
    doubled = nets.double()
    assert {t.dtype for t in (doubled.into, doubled.out, *doubled.stack.values(), doubled.fixed["add"])} == {
        torch.float64
    }


def test_a_first_step_is_the_squared_gradient_along_a_direction_of_length_1():
    """Of y = 3 (x + b_1 + ... + b_L) every bias has the gradient 3 r."""
    method = Method(
        lambda x, p: x + p["b"],
        lambda x, p: 3 * x,
        lambda p: {**p, "b": torch.zeros_like(p["W2"][..., :1, :])},
    )
    nets = begin(method, 5, 8, (0, 1), dtype=torch.float64)
    _, moved = first_step(nets, method, (0, 1))
    assert moved["b"].tolist() == pytest.approx([9 * 5, 9 * 5], abs=1e-12)  # rounding
    assert not moved["W2"].any()


def test_a_step_along_the_gradient_changes_what_is_read_by_its_square():
    nets = begin(LAYERED, 3, 8, (5,), inputs=8, dtype=torch.float64)
    size, moved = first_step(nets, LAYERED, (5,))
    assert float(size) == pytest.approx(4, abs=1e-12)  # layer norms times 2; rounding
    x, r = (torch.randn(1, 8, generator=g, dtype=torch.float64) for g in [generators(5)[1]] * 2)
    leaves = {name: values.clone().requires_grad_() for name, values in nets.stack.items()}
    along = (replace(nets, stack=leaves).read(LAYERED, x)[0] @ (r / r.norm()).T).sum()
    slopes = torch.autograd.grad(along, [*leaves.values()])
    rate = 1e-6
    stepped = {n: v.detach() + rate * s for (n, v), s in zip(leaves.items(), slopes, strict=True)}
    after = (replace(nets, stack=stepped).read(LAYERED, x)[0] @ (r / r.norm()).T).sum()
    # a step of 1e-6 is not 0: the second order is about as many times the first
    assert float(after - along.detach()) / rate == pytest.approx(float(sum(moved.values())), rel=1e-3)


def test_parameters_without_a_part_in_what_is_read_move_nothing():
    zero = Method(lambda x, p: x + 0 * p["W2"].sum(), start=lambda p: {"W1": p["W1"], "W2": p["W2"]})
    _, moved = first_step(begin(zero, 2, 4, (0, 1), dtype=torch.float64), zero, (0, 1))
    assert not moved["W1"].any()
    assert not moved["W2"].any()


@pytest.mark.parametrize(("depth", "width", "said"), [(0, 8, "at least one block"), (1, 3, "at least 4")])
def test_networks_too_small_are_named(depth, width, said):
    with pytest.raises(ValueError, match=said):
        begin(PLAIN, depth, width, (0,))

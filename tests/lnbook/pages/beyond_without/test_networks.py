"""Networks whose blocks are given: computed as by hand, and trained together as alone."""

from dataclasses import replace

import torch

from lnbook.pages.beyond_without.networks import Method, begin, scores, train
from lnbook.shared.digits import digits
from lnlib.norms import layer_norm


def branch(u, p):
    return (u @ p["W1"]).relu() @ p["W2"]


def with_gain(p):
    blocks, networks, units, _ = p["W1"].shape
    return {**p, "gain": 2 * p["W1"].new_ones(blocks + 1, networks, 1, units)}


def read(x, p):
    return p["gain"] * layer_norm(x, eps=0.0)


LAYERED = Method(lambda x, p: x + branch(read(x, p), p), read, with_gain)
PLAIN = Method(lambda x, p: x + branch(x, p))


def test_streams_and_logits_are_those_by_hand():
    nets = begin(LAYERED, 2, 8, (3, 4), torch.float64)
    nets = replace(nets, out=torch.randn(nets.out.shape, generator=torch.Generator().manual_seed(0)).double())
    x = torch.randn(6, 64, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    stream = x @ nets.into[1]
    streams = nets.streams(x)
    for k in range(2):
        torch.testing.assert_close(streams[k][1], stream, rtol=0, atol=1e-12)  # rounding
        hidden = (2 * layer_norm(stream, eps=0.0) @ nets.stack["W1"][k, 1]).relu()
        stream = stream + hidden @ nets.stack["W2"][k, 1]
    expected = 2 * layer_norm(stream, eps=0.0) @ nets.out[1]
    torch.testing.assert_close(nets.logits(x)[1], expected, rtol=0, atol=1e-12)


def test_rates_are_outermost_and_each_network_trains_as_alone():
    cases, _ = digits()
    both, alone = (train(begin(PLAIN, 1, 8, seeds), cases, (1e-3, 1e-2), 12) for seeds in ((4, 5), (5,)))
    # float32 sums in another order, through 12 steps of Adam
    torch.testing.assert_close(both.out[1::2], alone.out, rtol=0, atol=1e-4)
    torch.testing.assert_close(both.stack["W1"][:, 1::2], alone.stack["W1"], rtol=0, atol=1e-4)
    assert scores(both, cases)[0].shape == (2, 2)

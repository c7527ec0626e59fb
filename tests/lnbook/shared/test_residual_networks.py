"""Networks whose blocks are given: computed as by hand, and trained together as alone."""

import torch

from lnbook.pages.beyond_without.ways import LAYERED, new
from lnbook.shared.digits import digits
from lnbook.shared.residual_networks import Networks, scores, train
from lnlib.norms import layer_norm


def test_streams_and_logits_are_those_by_hand():
    drawn = torch.Generator().manual_seed(1)
    shapes = {"W1": (2, 2, 8, 16), "W2": (2, 2, 16, 8), "gain": (3, 2, 1, 8), "bias": (3, 2, 1, 8)}
    stack = {name: torch.randn(shape, generator=drawn) for name, shape in shapes.items()}
    into, out = torch.randn(2, 64, 8, generator=drawn), torch.randn(2, 8, 10, generator=drawn)
    nets, x = (
        Networks(LAYERED, (3, 4), into, stack, out).double(),
        torch.randn(6, 64, generator=drawn).double(),
    )
    W1, W2, gain, bias = (values[:, 1] for values in nets.stack.values())
    stream, streams = x @ nets.into[1], nets.streams(x)
    for k in range(3):
        torch.testing.assert_close(streams[k][1], stream, rtol=1e-12, atol=1e-10)  # rounding
        read = gain[k] * layer_norm(stream) + bias[k]
        stream = stream + (read @ W1[k]).relu() @ W2[k] if k < 2 else read
    torch.testing.assert_close(nets.logits(x)[1], stream @ nets.out[1], rtol=1e-12, atol=1e-10)


def test_rates_are_outermost_and_each_network_trains_as_alone():
    cases, _ = digits()
    starts = [new("faded out", 1, 8, seeds) for seeds in ((4, 5), (5,))]
    both, alone = (train(nets, cases, (1e-3, 1e-2), 12) for nets in starts)
    # float32 sums in another order, through 12 steps of Adam
    torch.testing.assert_close(both.out[1::2], alone.out, rtol=0, atol=1e-4)
    torch.testing.assert_close(both.stack["W1"][:, 1::2], alone.stack["W1"], rtol=0, atol=1e-4)
    assert torch.equal(both.stack["sigma"][:, :2], starts[0].stack["sigma"])  # held
    assert scores(both, cases)[0].shape == (2, 2)

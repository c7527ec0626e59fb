"""The benchmark's peers compute what lnlib computes, so that their times may be compared."""

import pytest
import recurrent_peers
import torch

import lnlib

# Relative to an array's largest value: float32 rounds by 6e-8, here over five steps of two layers.
CLOSE = 1e-5


@pytest.mark.parametrize("name", ["loop", "loop, TorchScript", "JAX scan"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_outputs_and_gradients_are_lnlibs(kind: str, name: str) -> None:
    torch.manual_seed(0)
    module = getattr(lnlib, kind)(3, 8, 2)
    x, upstream = torch.randn(5, 4, 3), torch.randn(5, 4, 8)
    with lnlib.rnn.plain():
        expected = recurrent_peers.lnlib(module)(x, upstream)
    call = recurrent_peers.PEERS[name](module)
    found = call(x, upstream)
    assert len(found) == 1 + len(list(module.parameters()))
    for a, b in zip((*call(x, None), *found), (expected[0], *expected), strict=True):
        assert (a - b).abs().max() < CLOSE * b.abs().max()

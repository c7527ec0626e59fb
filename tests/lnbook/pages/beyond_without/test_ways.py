"""Ways to do without a norm: how their blocks begin, and what fading leaves; the page holds the folding."""

from dataclasses import replace

import pytest
import torch

from lnbook.pages.beyond_without import ways

SEEDS = (3, 4)


def cases() -> torch.Tensor:
    return torch.randn(6, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def layered() -> ways.Networks:
    """With gains, biases and a readout that are no longer those of the start."""
    nets, draw = ways.new("layer norm", 3, 8, SEEDS, torch.float64), torch.Generator().manual_seed(1)
    drawn = {n: torch.randn(nets.stack[n].shape, generator=draw).double() for n in ("gain", "bias")}
    out = torch.randn(nets.out.shape, generator=draw).double()
    return replace(nets, stack={**nets.stack, **drawn}, out=out)


@pytest.mark.parametrize("name", ["layer norm, W2 = 0", "Fixup", "ReZero"])
def test_blocks_that_begin_by_adding_nothing_leave_the_stream_as_it_is(name):
    first, *_, last = ways.new(name, 5, 8, SEEDS, torch.float64).streams(cases())
    assert torch.equal(first, last)


def test_a_norm_is_faded_from_each_cases_deviation_to_the_mean_one():
    nets, x = layered(), cases()
    held = ways.holding_deviations(nets, x)
    full = replace(held, method=ways.faded(1)).logits(x)
    torch.testing.assert_close(full, nets.logits(x), rtol=0, atol=1e-11)  # rounding
    own = (held.streams(x)[-1].var(-1, correction=0) + 1e-5).sqrt()
    torch.testing.assert_close(held.stack["sigma"][-1, :, 0, 0], own.mean(-1))
    assert (replace(held, method=ways.faded(0)).logits(x) - full).abs().max() > 0.01

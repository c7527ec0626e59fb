"""Where the time goes, on models that spend it in one known place."""

import pytest
import torch
from stepping import Loop, Made, lstm_and_product
from torch import nn

import lnlib
from lnbook.shared.steps.profile import recurrent, shares


def test_a_large_recurrence_outweighs_a_small_product_and_the_other_way_round() -> None:
    large = shares(lstm_and_product(300, 4, steps=100))
    assert large["recurrence"] > 0.6  # 100 steps of 720,000 weights; the rest has none of their size
    small = shares(lstm_and_product(2, 2000, steps=2))
    assert small["recurrence"] < 0.3 < small["products"]


def test_the_way_back_through_a_recurrence_counts_as_its_own() -> None:
    """A backward pass that takes most of the time: no gradient is asked of anything else."""

    class Slow(torch.autograd.Function):
        @staticmethod
        def forward(ctx: object, x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        @staticmethod
        def backward(ctx: object, d: torch.Tensor) -> torch.Tensor:
            for _ in range(300):
                torch.ones(300, 300).sin()
            return d

    class Recurrence(nn.RNN):
        def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
            return Slow.apply(super().forward(x)[0])

    inside = Made({"rnn": Recurrence(3, 3)}, lambda m, x: m["rnn"](x), torch.ones(4, 2, 3))
    assert shares(inside, updates=2)["recurrence"] > 0.8
    outside = Made({"rnn": nn.RNN(3, 3)}, lambda m, x: Slow.apply(m["rnn"](x)[0]), torch.ones(4, 2, 3))
    assert shares(outside, updates=2)["operations"] > 0.8  # the control: the same work behind the module


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_compiled_recurrences_are_seen(norm: str) -> None:
    gru = lnlib.GRU(64, 64, norm=norm)
    task = Made({"gru": gru}, lambda m, x: m["gru"](x)[0], torch.ones(50, 8, 64))
    assert recurrent(task, torch.Generator()) == [gru]
    found = shares(task)  # on a busy machine more of the time is the profiler's own, "rest"
    assert found["recurrence"] > found["operations"] + found["products"]  # where what is not seen would be


def test_a_loop_over_the_weights_of_a_module_that_is_never_called_belongs_to_its_holder() -> None:
    loop, called = Loop(16), nn.GRU(16, 16)
    task = Made(
        {"loop": loop, "gru": called}, lambda m, x: m["loop"](x) + m["gru"](x)[1], torch.ones(9, 2, 16)
    )
    assert recurrent(task, torch.Generator()) == [called, loop]

"""One set of weights in several variants: what agrees, what is seen, what is remembered."""

import numpy as np
import pytest
import torch
from torch import Tensor

from lnbook.pages.beyond_variants import measure

D, H = 5, 8


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def randn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def test_separate_and_joint_norms_agree_on_the_first_step_from_zero_and_not_on_the_second() -> None:
    weights = measure.random_lstm(D, H, generator(), spread=0.3)
    networks = [measure.as_variant(weights, variant=v) for v in ("paper", "joint")]
    x = randn(2, 4, D)
    assert measure.distances(networks, x[:1])[0, 1] < 1e-14  # a few roundings of numbers of size 1
    assert measure.distances(networks, x)[0, 1] > 0.05


@pytest.mark.parametrize("opening", [0.1, 0.4])
def test_a_raw_cell_forgets_by_a_power_and_a_normalized_one_exponentially(opening: float) -> None:
    step = np.arange(1, 101)
    found = {
        c: measure.memory(c, 100, opening=opening, units=256, generator=generator(4))
        for c in ("output", "carried")
    }
    theory = {"output": lambda s: (1 + s * step) ** -0.5, "carried": lambda s: (1 + s) ** (-step / 2)}
    for cell, memory in found.items():
        # A correlation over 256 units scatters by 1/16, its mean over 8 cases by 0.02; four times that.
        np.testing.assert_allclose(memory.correlation, theory[cell](memory.added), atol=0.09)
    # Inputs: the candidate's variance, 0.39 for tanh of a normal number, times the opening squared.
    assert found["output"].added == pytest.approx(0.39 * opening**2, rel=0.15)


def test_blank_steps_multiply_the_gradient_by_one_over_epsilon_only_where_two_norms_are_in_the_way() -> None:
    weights, counts = measure.random_lstm(D, H, generator()), (3, 6)

    def factor(variant: str | None, eps: float) -> float:
        few, many = measure.blank_gradients(measure.settings(variant, eps), counts, weights, generator(5))
        return (many / few) ** (1 / 3)

    # The slopes of two norms, 1 / sqrt(eps) each, or of the cell's alone; the gates' share is small.
    assert np.log10(factor("paper", 1e-12) / factor("paper", 1e-6)) == pytest.approx(6, abs=0.2)
    assert np.log10(factor("draw", 1e-12) / factor("draw", 1e-6)) == pytest.approx(3, abs=0.3)
    assert factor(None, 1e-5) == pytest.approx(1, abs=0.1)


def test_one_component_leaves_separate_norms_nothing_but_its_sign() -> None:
    weights, x = measure.random_lstm(1, H, generator(), spread=0.3), randn(20, 4, 1)
    for scheme, blind in (("separate", True), ("joint", False), ("separate, bias inside", False)):
        variant = measure.SCHEMES[scheme]
        lstm = measure.as_variant(weights, **measure.settings(variant, 0.0))
        with torch.no_grad():
            whole, signs = lstm(x)[0], lstm(x.sign())[0]
        change = float((whole - signs).norm() / whole.norm())
        assert (change < 1e-11) == blind, scheme  # W_x x is as small as 1e-3 at times: its digits suffer

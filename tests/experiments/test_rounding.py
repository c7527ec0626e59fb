"""The yardstick of rounding errors, and the order of the methods it measures."""

import numpy as np
import pytest
import torch

import lnlib
from lnlib.experiments import rounding


def draws(mean: float) -> list[torch.Tensor]:
    return list(torch.randn(5, 64, generator=torch.Generator().manual_seed(0)) + mean)


def test_the_exact_result_agrees_with_float64() -> None:
    for case in draws(10.0):
        np.testing.assert_allclose(
            rounding.exact(case), lnlib.layer_norm(case.double()).numpy(), rtol=0, atol=1e-13
        )


def test_at_mean_zero_every_way_is_accurate() -> None:
    for norm in (rounding.one_pass, rounding.two_passes, lnlib.layer_norm):
        assert rounding.largest_error(norm, draws(0.0)) < 1e-5


def test_one_pass_is_useless_where_two_passes_and_lnlib_are_not() -> None:
    one, two, ours = (
        rounding.largest_error(norm, draws(1e4))
        for norm in (rounding.one_pass, rounding.two_passes, lnlib.layer_norm)
    )
    assert one > 1
    assert two < 1e-2
    assert ours < 1e-5


def test_nan_is_an_infinite_error() -> None:
    assert rounding.largest_error(lambda case: case * float("nan"), draws(0.0)) == pytest.approx(np.inf)

"""Boundary statistics: which units see past the edge is found by asking them, shares by sums of squares."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lnbook.pages.sec6_7_convnets.model import columns, reaches_over, shares


def asked(size: int, strides: list[int]) -> list[Tensor]:
    """True where a layer of ones sees other numbers inside the picture than with a wider world around it."""
    inside, outside = (torch.ones(1, 1, n, n) for n in (size, size + 64))
    found, skip = [], 32
    for stride in strides:
        kernel = torch.ones(1, 1, 3, 3)
        inside = torch.nn.functional.conv2d(inside, kernel, stride=stride, padding=1)
        outside = torch.nn.functional.conv2d(outside, kernel, stride=stride, padding=1)
        skip //= stride
        window = outside[..., skip : skip + inside.shape[-1], skip : skip + inside.shape[-1]]
        found.append((inside != window)[0, 0])
    return found


@given(st.integers(6, 20), st.lists(st.integers(1, 2), min_size=1, max_size=3))
def test_units_see_past_the_edge_exactly_where_the_formula_says(size: int, strides: list[int]) -> None:
    for formula, answer in zip(reaches_over(size, strides), asked(size, strides), strict=True):
        assert torch.equal(formula, answer)


def layer(seed: int = 0) -> Tensor:
    return torch.randn(40, 6, 5, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_shares_are_sums_of_squares_and_the_border_is_a_part_of_the_positions() -> None:
    over = reaches_over(5, [1])[0]
    z = layer() + torch.arange(6.0)[:, None, None] + 3 * over
    found = shares(z, over)
    total = (z - z.mean()).square().sum()
    by_channel = z.mean((0, 2, 3), keepdim=True).expand_as(z)
    by_place = torch.where(over, z[..., over].mean(), z[..., ~over].mean()).expand_as(z)
    assert found["channels"] == pytest.approx(float((by_channel - z.mean()).square().sum() / total), rel=1e-9)
    assert found["border"] == pytest.approx(float((by_place - z.mean()).square().sum() / total), rel=1e-9)
    assert found["border"] <= found["positions"]
    assert found["channels"] + found["positions"] < 1


def test_columns_tell_the_border_from_the_center() -> None:
    over = reaches_over(5, [1])
    a = layer()
    a[..., over[0]] = 0.1 * a[..., over[0]] - 5
    row = columns([(a, a)], over)
    assert row["on_border_1"] == 0
    assert row["rare_border_1"] == 1
    assert row["rare_center_1"] == 0
    assert row["on_center_1"] == pytest.approx(0.5, abs=0.05)
    assert row["std_ratio_1"] == pytest.approx(0.1, abs=0.01)
    assert row["shift_1"] < -1
    assert row["dead_1"] == 0
    still = columns([(a, a.abs() * -1)], over)
    assert still["dead_1"] == 1

"""The two ways of standardizing: each against exact arithmetic, and the choice between them."""

import math

import pytest
import torch
from exact import layer_norm_gradient, standardized
from hypothesis import assume, example, given
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

from lnlib.norms.standardize import (
    inner_mean,
    is_accurate,
    may_branch,
    rescale,
    standardize,
    standardize_rows,
)

DTYPES = [torch.float32, torch.float64]
# Any finite float: subnormal, of the largest magnitude, equal, of one sign, with one giant.
any_float32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
any_float64 = st.floats(allow_nan=False, allow_infinity=False)
some_eps = st.sampled_from([0.0, 1e-5, 1e-12, 1.0])


def robust(row: Tensor, eps: float) -> Tensor:
    return standardize(row, [-1], eps)


def fast_where_accurate(row: Tensor, eps: float) -> Tensor:
    return standardize_rows(row, None, None, eps)


def assert_exact(way, values: list[float], dtype: torch.dtype, eps: float) -> None:
    """Within 3 bits for |mean|/std, 3 for the roundings of up to 8 values, and subnormal results."""
    row = torch.tensor([values], dtype=dtype)
    got, exact = way(row, eps)[0].double(), torch.tensor(standardized(values, eps), dtype=torch.float64)
    info = torch.finfo(dtype)
    # Inputs below the normal range are known to one spacing of subnormals, which eps then multiplies.
    spacing = info.smallest_normal * info.eps * (8 / math.sqrt(eps) if eps else 0)
    assert (got - exact).abs().max() <= 32 * info.eps * exact.abs().max() + spacing


@pytest.mark.parametrize("way", [robust, fast_where_accurate])
@given(values=st.lists(any_float64, min_size=1, max_size=8), eps=some_eps)
@example(values=[1e-200, 3e-200], eps=1e-5)  # far below the root of eps, far above the smallest number
def test_any_finite_doubles_are_standardized_as_in_exact_arithmetic(way, values, eps) -> None:
    assert_exact(way, values, torch.float64, eps)


@pytest.mark.parametrize("way", [robust, fast_where_accurate])
@given(values=st.lists(any_float32, min_size=1, max_size=8), eps=some_eps)
@example(values=torch.tensor([1e-25, 3e-25]).tolist(), eps=1e-5)
def test_any_finite_singles_are_standardized_as_in_exact_arithmetic(way, values, eps) -> None:
    assert_exact(way, values, torch.float32, eps)


@pytest.mark.parametrize("way", [robust, fast_where_accurate])
@pytest.mark.parametrize("dtype", DTYPES)
@given(
    offset=st.sampled_from([0.0, 1.0, 8.0, 1e3, 1e6]),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    steps=st.lists(st.integers(-99, 99), min_size=2, max_size=8),
    eps=some_eps,
)
def test_gradients_are_those_of_exact_arithmetic(way, dtype, offset, scale, steps, eps) -> None:
    row = (torch.tensor([steps], dtype=torch.float64) * scale + offset).to(dtype).requires_grad_()
    values = row[0].tolist()
    assume(max(values) > min(values))
    upstream = torch.linspace(-1, 2, len(values), dtype=dtype)
    (got,) = torch.autograd.grad(way(row, eps)[0], row, upstream)
    exact = layer_norm_gradient(values, upstream.tolist(), eps)
    # Differences of terms as large as |upstream|/std: 3 bits for |mean|/std, squared by ahat, 4 for roundings
    std = math.sqrt(torch.tensor(values, dtype=torch.float64).var(correction=0) + eps)
    error = (got[0].double() - torch.tensor(exact, dtype=torch.float64)).abs().max()
    assert error <= 256 * torch.finfo(dtype).eps * 2 / std


@pytest.mark.parametrize("dtype", DTYPES)
@given(
    values=st.lists(st.floats(-50, 50, width=32), min_size=1, max_size=8),
    offset=st.sampled_from([0.0, 0.1, 10.0, 300.0, 3000.0]),
    eps=some_eps,
)
def test_a_kernels_result_is_kept_only_where_it_is_exact(dtype, values, offset, eps) -> None:
    row = (torch.tensor([values], dtype=torch.float64) + offset).to(dtype)
    out, mean, rstd = torch.native_layer_norm(row, [row.shape[-1]], None, None, eps)
    if is_accurate(rstd, eps, mean):
        assert_exact(lambda row, eps: out, row[0].tolist(), dtype, eps)


@pytest.mark.parametrize("way", [robust, fast_where_accurate])
@pytest.mark.parametrize("dtype", DTYPES)
@given(value=st.floats(-1e-3, 1e-3), H=st.integers(1, 100), eps=some_eps)
def test_equal_values_near_zero_give_exactly_zero(way, dtype, value, H, eps) -> None:
    assert (way(torch.full((1, H), value, dtype=dtype) * 1.1, eps) == 0).all()


@pytest.mark.parametrize("dtype", DTYPES)
@given(value=st.floats(1e-9, 1.0), eps=st.floats(1e-8, 1.0), roundings=st.integers(-3, 3))
def test_equal_values_are_recognized_whatever_a_kernel_rounds(dtype, value, eps, roundings) -> None:
    # The kernel of another machine, or another version, may round 1/sqrt(eps) otherwise.
    rstd = torch.tensor([[1 / math.sqrt(eps)]], dtype=dtype) * (1 + roundings * torch.finfo(dtype).eps)
    assert not is_accurate(rstd, eps, torch.tensor([[value]], dtype=dtype))
    assert is_accurate(rstd, eps, torch.zeros(1, 1, dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_kernels_result_is_kept_for_ordinary_activations(dtype: torch.dtype) -> None:
    normal = torch.randn(512, 64, dtype=dtype, generator=torch.Generator().manual_seed(0))
    for a in (normal, normal.relu(), normal.sigmoid(), 3 * normal + 10, torch.zeros(4, 64, dtype=dtype)):
        _, mean, rstd = torch.native_layer_norm(a, [64], None, None, 1e-5)
        assert is_accurate(rstd, 1e-5, mean)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "row", ["far from 0", "rounded mean", "equal and small", "overflow", "not a number", "infinity"]
)
def test_a_kernels_result_is_not_kept_with_one_hard_row_among_ordinary_ones(row, dtype) -> None:
    hard = {
        "far from 0": [1e6, 1e6 + 1, 1e6 + 2],
        "rounded mean": [0.1, 0.1, 0.1],
        "equal and small": [1e-3, 1e-3, 1e-3],
        "overflow": [torch.finfo(dtype).max ** 0.75, 0.0, 0.0],
        "not a number": [0.0, 1.0, math.nan],
        "infinity": [0.0, 1.0, math.inf],
    }
    a = torch.randn(16, 3, dtype=dtype, generator=torch.Generator().manual_seed(0))
    a[7] = torch.tensor(hard[row], dtype=dtype)
    _, mean, rstd = torch.native_layer_norm(a, [3], None, None, 1e-5)
    assert not is_accurate(rstd, 1e-5, mean)
    rest = torch.arange(16) != 7
    assert is_accurate(rstd[rest], 1e-5, mean[rest])


@pytest.mark.parametrize("dtype", DTYPES)
def test_units_of_the_rescaling_are_powers_of_two_and_1_for_ordinary_numbers(dtype: torch.dtype) -> None:
    top = math.frexp(torch.finfo(dtype).max)[1]
    exponents = torch.arange(3 - top, top - 1)
    x = torch.ldexp(torch.full(exponents.shape, 0.75, dtype=dtype), exponents.to(dtype))[:, None]
    scale = rescale(x, [-1], 0.0)[0] / x
    assert (torch.frexp(scale).mantissa == 0.5).all()
    ordinary = (exponents.abs() <= top // 4)[:, None]
    assert (scale[ordinary] == 1).all()
    assert (rescale(x, [-1], 0.0)[0][~ordinary] == 0.75).all()


@given(st.lists(st.floats(-1e3, 1e3, width=32), min_size=1, max_size=9))
def test_the_inner_mean_is_between_the_extremes_and_carries_no_gradient(values: list[float]) -> None:
    x = torch.tensor(values, requires_grad=True)
    mean = inner_mean(x, [0])
    assert x.min() <= mean <= x.max()
    assert not mean.requires_grad
    equal = torch.full((len(values),), values[0])
    assert (inner_mean(equal, [0]) == equal).all()


def test_values_are_looked_at_only_on_a_cpu_outside_transforms_and_tracing() -> None:
    seen = []

    def look(x: Tensor) -> Tensor:
        seen.append(may_branch(x))
        return x.sum()

    x = torch.zeros(2, 3)
    look(x)
    torch.vmap(look)(x)
    torch.func.grad(look)(x)
    look(x.to("meta"))
    make_fx(look)(x)
    with FakeTensorMode() as fake:
        look(fake.from_tensor(x))
    assert seen == [True, False, False, False, False, False]

"""The norms of half precision, equal and extreme values, NaN and no cases; what they refuse."""

import math

import pytest
import torch
from exact import standardized
from pairs import DTYPES, EXACT, HALF, NORMS, draw, every_norm, inputs
from torch.testing import assert_close

from lnlib import batch_norm, group_norm, instance_norm, layer_norm, rms_norm, weight_norm
from lnlib.norms import batch_norm_by

pytestmark = pytest.mark.grid


@every_norm
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_rounded_once_to_the_dtype_of_the_input(name: str, dtype: torch.dtype) -> None:
    ours = NORMS[name]
    args = inputs(dtype)
    got = ours(*args)
    assert got.dtype == dtype
    eps = torch.finfo(dtype).eps
    # half: one rounding at the end. float32, float64: some, and the cancellation of gain * a + bias
    rtol, atol = (eps / 2 * 1.01, 1e-5) if dtype in HALF else (8 * eps, 32 * eps)
    assert_close(got.double(), ours(*(t.double() for t in args)), rtol=rtol, atol=atol)


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("wide_parameters", [False, True])
def test_gradients_of_half_precision_are_summed_wide(dtype: torch.dtype, wide_parameters: bool) -> None:
    a = draw(4096, 32).to(dtype)
    upstream = (draw(4096, 32, seed=1) + 0.1).to(dtype)
    parameters = [p.to(torch.float32 if wide_parameters else dtype) for p in (draw(32), draw(32, seed=2))]
    args = [t.requires_grad_() for t in (a, *parameters)]
    truth = [t.detach().double().requires_grad_() for t in args]
    got = torch.autograd.grad(layer_norm(*args), args, upstream)
    expected = torch.autograd.grad(layer_norm(*truth), truth, upstream.double())
    for mine, its in zip(got, expected, strict=True):
        # one rounding to its dtype, after float32 sums of 4,096 terms
        tolerance = torch.finfo(mine.dtype).eps + 1e-5
        assert (mine.double() - its).abs().max() <= tolerance * its.abs().max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("eps", [1e-5, 0.0])
@pytest.mark.parametrize("value", [0.0, 0.1, -3.3e-3, 700.1])
@pytest.mark.parametrize("H", [1, 3, 10, 1000])
def test_equal_values_give_exactly_the_bias_and_a_finite_gradient(H, value, eps, dtype) -> None:
    a = torch.full((2, H), value, dtype=dtype)
    a[1] = draw(H).to(dtype)
    a.requires_grad_()
    gain, bias = draw(H, seed=1).to(dtype), draw(H, seed=2).to(dtype)
    out = layer_norm(a, gain, bias, eps)
    assert (out[0] == bias).all()
    (gradient,) = torch.autograd.grad(out.sum(), a)
    assert gradient.isfinite().all()
    if eps == 0:
        assert (gradient[0] == 0).all()
    # the same in every place where a set of equal values can be
    assert (batch_norm(a[:1].detach().mT.repeat(1, 2), eps=eps) == 0).all()
    assert (group_norm(a[:1].detach().repeat(1, 2), 2, eps=eps) == 0).all()
    assert (instance_norm(a[:1, None].detach(), eps=eps) == 0).all()


@pytest.mark.parametrize(
    ("dtype", "magnitude"),
    [(torch.float64, m) for m in (1e160, 1e307, 1e-165, 1e-307, 5e-320)]
    + [(torch.float32, m) for m in (1e20, 1e38, 1e-23, 1e-37, 1e-42)],
)
def test_any_magnitude_gives_values_and_gradients_of_the_right_size(dtype, magnitude: float) -> None:
    steps = torch.tensor([[1.0, -2.0, 3.0, 0.0, 2.0, -1.0, 1.0, 2.0]], dtype=torch.float64)
    a = (steps * magnitude).to(dtype).requires_grad_()
    exact = torch.tensor([standardized(a[0].tolist())], dtype=torch.float64)
    upstream = draw(1, 8)
    for norm in (
        layer_norm,
        lambda a, eps: batch_norm(a.mT, eps=eps).mT,
        lambda a, eps: group_norm(a, 1, eps=eps),
    ):
        out = norm(a, eps=0.0)
        # a few roundings in numbers up to 2
        assert_close(out.double(), exact, rtol=0, atol=16 * torch.finfo(dtype).eps)
        if magnitude > 10 * torch.finfo(dtype).smallest_normal:
            (gradient,) = torch.autograd.grad(out, a, upstream.to(dtype))
            assert gradient.isfinite().all()
            assert gradient.abs().max() > 0.1 / magnitude


@every_norm
@pytest.mark.parametrize("poison", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_poison_only_the_values_they_are_normalized_with(name: str, poison: float) -> None:
    ours = NORMS[name]
    a, g, b = inputs()
    clean = ours(a, g, b)
    together = torch.zeros(6, 8, 5, dtype=torch.bool)
    where = {"batch": (slice(None), 4), "layer": (2, slice(None), 3), "rms": (2, slice(None), 3),
             "group": (2, slice(4, 6)), "instance": (2, 4), "weight": (slice(None), 4)}  # fmt: skip
    together[where[name]] = True
    a[2, 4, 3] = poison
    if name == "weight":
        together = together.transpose(0, 1)
    got = ours(a, g, b)
    # it takes other arithmetic when it sees NaN, so the clean values agree to rounding
    assert_close(got[~together], clean[~together], **EXACT)
    assert got[together].isnan().any()
    assert not got[together].isfinite().all()
    if math.isnan(poison) or name not in ("rms", "weight"):
        assert got[together].isnan().all()


@pytest.mark.parametrize("name", [name for name in NORMS if name != "weight"])
def test_no_cases_give_an_empty_result_with_a_gradient(name: str) -> None:
    ours = NORMS[name]
    a = torch.zeros(0, 8, 5, requires_grad=True)
    out = ours(a, torch.ones(8), torch.ones(8))
    assert out.shape == (0, 8, 5)
    out.sum().backward()
    assert a.grad is not None
    assert a.grad.shape == a.shape


def test_a_zero_weight_row_stays_zero_with_zero_gradient_and_spares_the_others() -> None:
    W = draw(3, 4)
    W[1] = 0
    W.requires_grad_()
    out = weight_norm(W, torch.tensor([2.0, 3.0, 4.0]))
    (gradient,) = torch.autograd.grad(out, W, draw(3, 4, seed=1))
    assert (out[1] == 0).all()
    assert (gradient[1] == 0).all()
    rest = W.detach()[[0, 2]].requires_grad_()
    alone = weight_norm(rest, torch.tensor([2.0, 4.0]))
    assert_close(out[[0, 2]], alone, **EXACT)
    assert_close(gradient[[0, 2]], torch.autograd.grad(alone, rest, draw(3, 4, seed=1)[[0, 2]])[0], **EXACT)


def test_given_statistics_without_spread_or_beyond_the_range() -> None:
    a = torch.tensor([[3.0, 3.0], [3.0, 4.0]], requires_grad=True)
    mean, var, bias = torch.full((2,), 3.0), torch.zeros(2), torch.tensor([0.5, -1.0])
    out = batch_norm_by(a, mean, var, bias=bias, eps=0)  # the bias at the mean, infinity beside it
    assert out.tolist() == [[0.5, -1.0], [0.5, math.inf]]
    (gradient,) = torch.autograd.grad(out[0].sum(), a)
    assert (gradient[0] == 0).all()
    out = batch_norm_by(torch.full((2, 2), 1e20), torch.zeros(2), torch.tensor([math.inf, 1e38]))
    assert out[:, 0].isnan().all()  # no silent zeros
    # a few roundings
    assert_close(out[:, 1], torch.full((2,), 10.0), rtol=1e-6, atol=0)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: layer_norm([1.0]), TypeError, "input must be a tensor.* list; make it one"),
        (lambda: layer_norm(torch.arange(3)), TypeError, r"int64; convert it, .*\.to\(torch\.float32\)"),
        (lambda: layer_norm(torch.ones(2).to(torch.float8_e5m2)), TypeError, "16 bits or more.*float8"),
        (lambda: weight_norm(torch.ones(2, 2).cfloat()), TypeError, "complex64"),
        (lambda: layer_norm(torch.zeros(3), eps=-1e-5), ValueError, "not negative, and it is -1e-05"),
        (lambda: batch_norm(torch.zeros(2, 3), eps=math.nan), ValueError, "it is nan"),
        (lambda: rms_norm(torch.ones(3), eps=torch.ones(1, requires_grad=True)), ValueError, "eps is a n"),
        (lambda: layer_norm(torch.zeros(3, 0)), ValueError, r"0 units, .* \(3, 0\); give at least one"),
        (lambda: rms_norm(torch.zeros(0, 3), dim=0), ValueError, r"0 units, .* \(0, 3\)"),
        (lambda: layer_norm(torch.zeros(3), dim=1), ValueError, r"once, out of \[0\] .* \(3,\), and it is 1"),
        (lambda: layer_norm(torch.tensor(1.0)), ValueError, r"shape \(\), and it is -1"),
        (lambda: layer_norm(torch.zeros(3, 4), dim=()), ValueError, "names each axis of the units once"),
        (lambda: layer_norm(torch.zeros(3, 4), dim=(1, -1)), ValueError, "once, .* it is 1, -1"),
        (lambda: layer_norm(torch.zeros(2, 3), torch.ones(2)), ValueError, r"shape \(3,\), and it is \(2,\)"),
        (lambda: layer_norm(torch.zeros(2, 3), bias=torch.ones(1, 3)), ValueError, r"it is \(1, 3\)"),
        (lambda: weight_norm(torch.zeros(3, 2), 2.0), ValueError, r"shape \(3,\), and it is 2\.0"),
        (lambda: batch_norm_by(torch.ones(2, 3), torch.ones(3), torch.ones(1)), ValueError, r"it is \(1,\)"),
        (lambda: batch_norm(torch.zeros(3)), ValueError, r"2 axes or more.* \(3,\); add"),
        (lambda: instance_norm(torch.zeros(2, 3)), ValueError, r"3 axes or more.* \(2, 3\); add"),
        (lambda: instance_norm(torch.zeros(2, 3, 0)), ValueError, r"0 values, .* \(2, 3, 0\)"),
        (lambda: batch_norm(torch.zeros(1, 3), unbiased=True), ValueError, "cases - 1, .* at least 2"),
        (lambda: group_norm(torch.zeros(2, 6), 4), ValueError, r"4 does not divide 6; .*\[1, 2, 3, 6\]"),
        (lambda: group_norm(torch.zeros(2, 6), 0), ValueError, "0 does not divide 6"),
    ],
)  # fmt: skip
def test_an_error_names_the_invariant_the_values_and_the_fix(call, error, words: str) -> None:
    with pytest.raises(error, match=words):
        call()

"""Layer norm with detached statistics: the same outputs, and a gradient without the projections."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.pages.beyond_covariate_shift.detached import STATISTICS, detached_layer_norm
from lnlib import layer_norm

CHOICES = [(), ("mean",), ("std",), STATISTICS]


def draw(seed: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def by_formula(a, gain, delta, eps, detach) -> torch.Tensor:
    """The gradient with respect to a, written out; eps under the root leaves part of the direction a-hat."""
    std = (a.var(-1, correction=0, keepdim=True) + eps).sqrt()
    hat, inner = (a - a.mean(-1, keepdim=True)) / std, gain * delta
    kept = inner.clone()
    if "mean" not in detach:
        kept -= inner.mean(-1, keepdim=True)
    if "std" not in detach:
        kept -= hat * (hat * inner).mean(-1, keepdim=True)
    return kept / std


@pytest.mark.parametrize("detach", CHOICES)
@given(seed=st.integers(0, 1000), H=st.integers(3, 12), eps=st.sampled_from([0.0, 1e-5, 0.3]))
def test_the_gradient_is_the_formula(detach, seed, H, eps) -> None:
    a, delta = draw(seed, 4, H).requires_grad_(), draw(seed + 1, 4, H)
    gain, bias = draw(seed + 2, H), draw(seed + 3, H)
    out = detached_layer_norm(a, gain, bias, eps, detach)
    (found,) = torch.autograd.grad(out, a, delta)
    expected = by_formula(a.detach(), gain, delta, eps, detach)
    # a case of three near-equal units is divided by a small deviation, and its rounding with it
    torch.testing.assert_close(found, expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("detach", CHOICES)
def test_the_outputs_are_layer_norms(detach) -> None:
    a, gain, bias = draw(0, 3, 5, 7), draw(1, 7), draw(2, 7)
    expected = layer_norm(a, gain, bias, eps=1e-3)
    torch.testing.assert_close(detached_layer_norm(a, gain, bias, 1e-3, detach), expected)


def test_with_nothing_detached_all_gradients_are_layer_norms() -> None:
    inputs = [draw(0, 6, 7).requires_grad_(), draw(1, 7).requires_grad_(), draw(2, 7).requires_grad_()]
    delta = draw(3, 6, 7)
    found = torch.autograd.grad(detached_layer_norm(*inputs, detach=()), inputs, delta)
    torch.testing.assert_close(found, torch.autograd.grad(layer_norm(*inputs), inputs, delta))


@pytest.mark.parametrize("detach", CHOICES)
def test_gain_and_bias_learn_alike_whatever_is_detached(detach) -> None:
    a, gain, bias = draw(0, 6, 7), draw(1, 7).requires_grad_(), draw(2, 7).requires_grad_()
    delta = draw(3, 6, 7)
    found = torch.autograd.grad(detached_layer_norm(a, gain, bias, detach=detach), (gain, bias), delta)
    torch.testing.assert_close(found, torch.autograd.grad(layer_norm(a, gain, bias), (gain, bias), delta))


def test_detached_statistics_let_through_what_layer_norm_deletes() -> None:
    a = draw(0, 6, 7).requires_grad_()
    for deleted in (torch.ones(6, 7, dtype=torch.float64), layer_norm(a.detach(), eps=0.0)):
        (kept,) = torch.autograd.grad(detached_layer_norm(a, eps=0.0), a, deleted)
        (gone,) = torch.autograd.grad(layer_norm(a, eps=0.0), a, deleted)
        assert gone.abs().max() < 1e-12  # rounding of sums of seven
        assert kept.norm(dim=-1).min() > 0.1  # sqrt(7) / std, and no std here is above 2


@pytest.mark.parametrize("detach", CHOICES)
def test_an_even_case_gives_the_bias_and_no_nan(detach) -> None:
    a, bias = torch.full((2, 3), 0.1, requires_grad=True), torch.tensor([1.0, 2.0, 3.0])
    for eps in (0.0, 1e-5):
        out = detached_layer_norm(a, bias=bias, eps=eps, detach=detach)
        assert torch.equal(out, bias.expand(2, 3))
        assert torch.autograd.grad(out.sum(), a)[0].isfinite().all()


@pytest.mark.parametrize("magnitude", [1e-170, 1e160])
def test_any_magnitude_normalizes(magnitude) -> None:
    a = draw(0, 4, 7)
    out = detached_layer_norm(magnitude * a, eps=0.0)
    torch.testing.assert_close(out, layer_norm(a, eps=0.0), rtol=1e-12, atol=1e-12)


def test_a_bad_row_poisons_no_other_and_the_input_stays() -> None:
    a = draw(0, 3, 4)
    a[1, 2] = math.nan
    before = a.clone()
    out = detached_layer_norm(a)
    assert out[1].isnan().all()
    assert out[[0, 2]].isfinite().all()
    assert torch.equal(a.nan_to_num(), before.nan_to_num())


def test_half_precision_is_computed_in_single() -> None:
    a = (draw(0, 4, 64) * 100).half()
    out = detached_layer_norm(a)
    assert out.dtype == torch.float16
    torch.testing.assert_close(out, layer_norm(a))


@pytest.mark.parametrize("detach", ["mean", ("variance",), ("mean", "gain")])
def test_another_statistic_is_refused(detach) -> None:
    with pytest.raises(ValueError, match=r"give a collection of \('mean', 'std'\)"):
        detached_layer_norm(torch.ones(2, 3), detach=detach)


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match="gain"):
        detached_layer_norm(torch.ones(2, 3), torch.ones(4))
    with pytest.raises(TypeError):
        detached_layer_norm(torch.ones(2, 3, dtype=torch.int64))

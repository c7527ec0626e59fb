"""The norms against equations, exact arithmetic and a formula; derivatives, transforms, compilation."""

import inspect
import math
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from exact import layer_norm_gradient, standardized
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pairs import EXACT, NORMS, draw, every_norm, inputs, torch_scripts_itself
from torch import Tensor
from torch.testing import assert_close

import lnlib
from lnlib import batch_norm, equations, group_norm, instance_norm, layer_norm, rms_norm, weight_norm

pytestmark = pytest.mark.grid


def test_the_norms_are_the_papers_equations() -> None:
    W, g, b, x = draw(5, 4), draw(5, seed=1), draw(5, seed=2), draw(4, seed=3)
    a, length = W @ x, np.sqrt((W.numpy() ** 2).sum(axis=1))
    affine = g.numpy(), b.numpy(), lambda z: z
    for found, expected in (
        (layer_norm(a, g, b, eps=0), equations.eq5(a.numpy(), *equations.eq3(a.numpy()), *affine)),
        (weight_norm(W, g) @ x + b, equations.eq5(a.numpy(), 0.0, length, *affine)),
        (batch_norm(W.mT, g, eps=0), equations.eq2(W.mT.numpy(), g.numpy())),
    ):
        assert_close(found, torch.from_numpy(expected), **EXACT)


def test_unbiased_batch_norm_divides_by_one_case_less() -> None:
    a, g, b = inputs()
    std = (a.var(dim=(0, 2), correction=1, keepdim=True) + 0.1).sqrt()
    expected = g[:, None] * (a - a.mean(dim=(0, 2), keepdim=True)) / std + b[:, None]
    assert_close(batch_norm(a, g, b, eps=0.1, unbiased=True), expected, **EXACT)


any_float32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
any_float64 = st.floats(allow_nan=False, allow_infinity=False)
some_eps = st.sampled_from([0.0, 1e-5, 1e-12, 1.0])


def assert_exact(values: list[float], dtype: torch.dtype, eps: float) -> None:
    """Layer norm within the roundings of up to 8 values, 3 bits for those of the first, and subnormals."""
    info = torch.finfo(dtype)
    assume(eps == 0 or max(map(abs, values)) < info.max**0.5 / 8)  # then squares are numbers
    got = layer_norm(torch.tensor([values], dtype=dtype), eps=eps)[0].double()
    exact = torch.tensor(standardized(values, eps), dtype=torch.float64)
    # Inputs below the normal range are known to one spacing of subnormals, which eps then multiplies.
    spacing = info.smallest_normal * info.eps * (8 / math.sqrt(eps) if eps else 0)
    assert (got - exact).abs().max() <= 32 * info.eps * exact.abs().max() + spacing


@given(values=st.lists(any_float64, min_size=1, max_size=8), eps=some_eps)
@example(values=[1e-200, 3e-200], eps=1e-5)  # far below the root of eps, far above the smallest number
@example(values=[1e308, -1e308], eps=0.0)  # whose difference is no number
def test_any_finite_doubles_are_standardized_as_in_exact_arithmetic(values, eps) -> None:
    assert_exact(values, torch.float64, eps)


@given(values=st.lists(any_float32, min_size=1, max_size=8), eps=some_eps)
@example(values=torch.tensor([1e-25, 3e-25]).tolist(), eps=1e-5)
def test_any_finite_singles_are_standardized_as_in_exact_arithmetic(values, eps) -> None:
    assert_exact(values, torch.float32, eps)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@example(offset=0.1, scale=0.0, steps=[1, 2, 3, 6], eps=1e-5)  # equal values
@given(
    offset=st.sampled_from([0.0, 1.0, 8.0, 1e3, 1e6]),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    steps=st.lists(st.integers(-99, 99), min_size=2, max_size=8),
    eps=some_eps,
)
def test_gradients_are_those_of_exact_arithmetic(dtype, offset, scale, steps, eps) -> None:
    row = (torch.tensor([steps], dtype=torch.float64) * scale + offset).to(dtype).requires_grad_()
    values = row[0].tolist()
    assume(eps > 0 or max(values) > min(values))
    upstream = torch.linspace(-1, 2, len(values), dtype=dtype)
    (got,) = torch.autograd.grad(layer_norm(row, eps=eps)[0], row, upstream)
    exact = layer_norm_gradient(values, upstream.tolist(), eps)
    # Differences of terms as large as |upstream|/std: 3 bits for |mean|/std, squared by ahat, 4 for roundings
    std = math.sqrt(torch.tensor(values, dtype=torch.float64).var(correction=0) + eps)
    error = (got[0].double() - torch.tensor(exact, dtype=torch.float64)).abs().max()
    assert error <= 256 * torch.finfo(dtype).eps * 2 / std


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_rms_and_weight_norm_of_any_finite_numbers_are_those_of_exact_arithmetic(values) -> None:
    a, H = torch.tensor([values], dtype=torch.float64), len(values)
    exact = torch.tensor([standardized(values, centre=False)], dtype=torch.float64)
    # no cancellation: the roundings of 8 squares and a root; results up to sqrt(8), some of them subnormal
    assert_close(rms_norm(a, eps=0), exact, rtol=2e-15, atol=1e-300)
    assert_close(weight_norm(a), exact / math.sqrt(H), rtol=2e-15, atol=1e-300)


@pytest.mark.parametrize("H", [3, 64, 1024])
@pytest.mark.parametrize("name", ["layer", "batch", "group", "instance"])
def test_float32_keeps_its_digits_at_any_mean_and_beside_any_outlier(name: str, H: int) -> None:
    """The loss is that of the first value's distance from the mean, at most sqrt(H) deviations."""
    norm = {
        "layer": layer_norm,
        "batch": lambda a: batch_norm(a.mT).mT,
        "group": lambda a: group_norm(a, 1),
        "instance": lambda a: instance_norm(a[:, None])[:, 0],
    }[name]
    for mean, outlier in ((0.0, 1e5), (1e3, 0.0), (1e3, 1e5), (1e6, 0.0), (1e6, 10.0), (1e6, 1e5)):
        a = draw(16, H) + mean
        a[:, 0] += outlier
        a = a.float().requires_grad_()
        wide = (a.detach().double() - mean).requires_grad_()
        out, expected = norm(a), F.layer_norm(wide, (H,))
        # some roundings of 6e-8 for each deviation of the first value
        assert (out - expected).abs().max() <= 1e-6 * math.sqrt(H), (mean, outlier)
        upstream = draw(16, H, seed=1)
        (got,) = torch.autograd.grad(out, a, upstream.float())
        (exact,) = torch.autograd.grad(expected, wide, upstream)
        assert (got - exact).abs().max() <= 1e-6 * math.sqrt(H) * exact.abs().max(), (mean, outlier)


@pytest.mark.parametrize("shape", [(60_000, 8), (500_000, 2), (8, 4, 96, 96)])
def test_batch_norm_is_as_accurate_over_very_many_cases(shape: tuple[int, ...]) -> None:
    x = 1 + draw(*shape, seed=0).float()
    layouts = [x, x.to(memory_format=torch.channels_last)] if x.ndim == 4 else [x]
    for layout in layouts:
        gap = (batch_norm(layout, eps=0) - batch_norm(layout.double(), eps=0)).abs().max()
        assert gap <= 32 * 2**-24, layout.stride()  # outputs to 5, mean over std 1: some tens of roundings


@every_norm
def test_first_and_second_derivatives_are_those_of_differences(name: str) -> None:
    ours = NORMS[name]
    a, g, b = inputs()
    args = [(a[:2, :, :2] + 100).requires_grad_(), g.requires_grad_(), b.requires_grad_()]
    # gradcheck's own tolerances for float64; fast_mode checks along random directions
    torch.autograd.gradcheck(ours, args, check_batched_grad=True, fast_mode=True)
    torch.autograd.gradgradcheck(ours, args, fast_mode=True)


@torch_scripts_itself
@every_norm
def test_inside_transforms_and_vectorized_the_result_is_the_same(name: str) -> None:
    ours = NORMS[name]
    a, g, b = inputs()
    stack = torch.stack([a, 3 * a + 50])
    expected = torch.stack([ours(each, g, b) for each in stack])
    assert_close(torch.vmap(lambda each: ours(each, g, b))(stack), expected, **EXACT)
    # per-case gradients in one call, against one call each
    loss = lambda each: (ours(each, g, b) ** 3).sum()  # noqa: E731
    per_case = torch.vmap(torch.func.grad(loss))(stack)
    for got, each in zip(per_case, stack, strict=True):
        each = each.clone().requires_grad_()
        assert_close(got, torch.autograd.grad(loss(each), each)[0], rtol=1e-11, atol=1e-11)
    small = a[:1, :, :2]
    jacobians = [j(lambda each: ours(each, g, b))(small) for j in (torch.func.jacrev, torch.func.jacfwd)]
    assert_close(*jacobians, **EXACT)


@every_norm
@pytest.mark.usefixtures("as_users_call")
def test_compiled_in_one_graph_values_and_gradients_are_the_same(name: str) -> None:
    ours = NORMS[name]
    torch.compiler.reset()
    compiled = torch.compile(ours, fullgraph=True, backend="aot_eager", dynamic=False)
    args = [t.requires_grad_() for t in inputs()]
    assert_close(compiled(*args, eps=0.0), ours(*args, eps=0.0), **EXACT)
    assert_close(compiled(*args), ours(*args), **EXACT)
    gradients = [torch.autograd.grad(f(*args).pow(3).sum(), args[:2]) for f in (compiled, ours)]
    assert_close(*gradients, rtol=1e-11, atol=1e-11)


NAMES = ["layer_norm", "rms_norm", "batch_norm", "group_norm", "instance_norm", "weight_norm"]
# Numbers 1000 deviations from zero lose 10 of the 53 or 24 bits that they are computed in, and some 20 sums
# and products round; gains are up to 4. Half precision is rounded once, at the end.
CLOSE = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@st.composite
def calls(draw: st.DrawFn, name: str) -> tuple[Tensor, dict[str, Any], int]:
    """Any shape, dtype and layout, means up to a thousand deviations from zero; options; the units' axis."""
    takes = inspect.signature(getattr(lnlib, name)).parameters
    least = 1 if "dim" in takes else 3 if name == "instance_norm" else 2
    shape = draw(st.lists(st.integers(1, 5), min_size=least, max_size=4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    normal = partial(torch.randn, generator=generator, dtype=torch.float64)
    offset, scale = draw(st.sampled_from([0.0, 3.0, -1e3])), draw(st.sampled_from([1.0, 1e-3, 10.0]))
    a = (scale * (normal(shape) + offset)).to(draw(st.sampled_from([*CLOSE])))
    layout = draw(st.sampled_from(["dense", "turned", "every other", "expanded"]))
    if layout == "turned":
        a = a.movedim(0, -1).contiguous().movedim(-1, 0)
    if layout == "every other":
        a = torch.stack([a, a + 1], -1)[..., 0]
    if layout == "expanded":
        a = a.narrow(0, 0, 1).expand(a.shape)
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    axis = dim if "dim" in takes else int(name != "weight_norm")
    gain, bias = (normal(shape[axis]).to(a.dtype) if draw(st.booleans()) else None for _ in range(2))
    groups = draw(st.sampled_from([k for k in range(1, 6) if shape[axis] % k == 0]))
    eps = draw(st.sampled_from([0.0, 1e-5, 1e-2, 1.0]))
    options = {"gain": gain, "bias": bias, "eps": eps, "dim": dim, "groups": groups}
    return a, {option: value for option, value in options.items() if option in takes}, axis


def formula(name: str, a: Tensor, options: dict[str, Any], axis: int) -> Tensor:
    """Eq. (2), Eq. (3) or its relative in float64, from the numbers as they are; 0 / 0 is 0."""
    d, over = a.double(), [axis]
    if name == "group_norm":
        d, over = d.reshape(len(a), options["groups"], -1), [2]
    elif "dim" not in options:
        over = [other for other in range(2 if name == "instance_norm" else 0, a.ndim) if other != axis]
    if name not in ("rms_norm", "weight_norm"):
        origin = d  # one number of each set: a mean far from zero would leave its rounding
        for other in over:
            origin = origin.narrow(other, 0, 1)
        d = d - origin
        d = d - d.mean(over, keepdim=True)
    power = d.square().sum(over, keepdim=True)
    if name != "weight_norm":
        power = d.square().mean(over, keepdim=True) + options["eps"]
    out = torch.where(power > 0, d / power.sqrt(), 0.0).reshape(a.shape)
    column = [1] * a.ndim
    column[axis] = -1
    gain, bias = options["gain"], options.get("bias")
    out = out if gain is None else out * gain.double().view(column)
    return out if bias is None else out + bias.double().view(column)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_a_call_gives_the_formulas_value(name: str, data: st.DataObject) -> None:
    a, options, axis = data.draw(calls(name))
    before, tolerance = a.clone(), CLOSE[a.dtype]
    expected = formula(name, a, options, axis).to(a.dtype)
    assert_close(getattr(lnlib, name)(a, **options), expected, rtol=tolerance, atol=tolerance)
    assert torch.equal(a, before)

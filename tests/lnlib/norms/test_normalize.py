"""The norms against the equations and exact arithmetic; their derivatives, transforms and compilation."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from exact import layer_norm_gradient, standardized
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pairs import EXACT, NORMS, draw, every_norm, inputs, torch_scripts_itself
from torch.testing import assert_close

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

"""The normalizations against the equations, torch's functions and exact arithmetic; and at the edges."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from exact import layer_norm_gradient, standardized
from hypothesis import assume, example, given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from lnlib import batch_norm, equations, group_norm, instance_norm, layer_norm, rms_norm, weight_norm
from lnlib.norms import batch_norm_by

pytestmark = pytest.mark.grid

HALF = [torch.float16, torch.bfloat16]
DTYPES = [torch.float64, torch.float32, *HALF]
# A dozen roundings of float64, and 3 bits for |mean|/std, in numbers of size 1 to 10.
EXACT = {"rtol": 1e-13, "atol": 1e-13}

# name -> (ours, torch's) on (6, 8, 5) inputs, with a gain and a bias for the 8 units or channels
PAIRS: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    "batch": (
        lambda a, g, b, eps=1e-5: batch_norm(a, g, b, eps),
        lambda a, g, b, eps=1e-5: F.batch_norm(a, None, None, g, b, training=True, eps=eps),
    ),
    "layer": (
        lambda a, g, b, eps=1e-5: layer_norm(a, g, b, eps, dim=1),
        lambda a, g, b, eps=1e-5: F.layer_norm(a.mT, (8,), g, b, eps).mT,
    ),
    "rms": (
        lambda a, g, b, eps=1e-5: rms_norm(a, g, eps, dim=1),
        lambda a, g, b, eps=1e-5: F.rms_norm(a.mT, (8,), g, eps).mT,
    ),
    "group": (
        lambda a, g, b, eps=1e-5: group_norm(a, 4, g, b, eps),
        lambda a, g, b, eps=1e-5: F.group_norm(a, 4, g, b, eps),
    ),
    "instance": (
        lambda a, g, b, eps=1e-5: instance_norm(a, g, b, eps),
        lambda a, g, b, eps=1e-5: F.instance_norm(a, weight=g, bias=b, eps=eps),
    ),
    "weight": (
        lambda a, g, b, eps=1e-5: weight_norm(a.transpose(0, 1), g),
        lambda a, g, b, eps=1e-5: torch._weight_norm(a.transpose(0, 1), g[:, None, None], 0),
    ),
}
# torch imports its own TorchScript code when it first differentiates forward, or compiles
torch_scripts_itself = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
every_norm = pytest.mark.parametrize("name", PAIRS)


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def inputs(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    return draw(6, 8, 5).to(dtype), draw(8, seed=1).to(dtype), draw(8, seed=2).to(dtype)


# --------------------------------------------------------------------------------- the paper's equations

eighths = st.integers(-80, 80).map(lambda k: k / 8)
rows = st.lists(eighths, min_size=2, max_size=9).filter(lambda v: max(v) > min(v))


@given(rows)
def test_layer_norm_is_eq3_in_eq5(values: list[float]) -> None:
    H = len(values)
    a, g, b = torch.tensor(values, dtype=torch.float64), draw(H), draw(H, seed=1)
    expected = equations.eq5(a.numpy(), *equations.eq3(a.numpy()), g.numpy(), b.numpy(), lambda z: z)
    # the literal equation itself loses |mean|/std <= 240 roundings here
    assert_close(layer_norm(a, g, b, eps=0), torch.from_numpy(expected), rtol=0, atol=1e-12)
    assert_close(
        layer_norm(a, g, b, eps=0),
        torch.from_numpy(equations.eq15(a.numpy(), g.numpy(), b.numpy())),
        rtol=0,
        atol=1e-12,
    )


def test_batch_norm_is_eq2() -> None:
    a, g = draw(6, 8), draw(8, seed=1)
    assert_close(batch_norm(a, g, eps=0), torch.from_numpy(equations.eq2(a.numpy(), g.numpy())), **EXACT)


def test_weight_norm_is_eq5_with_the_length_of_the_row() -> None:
    W, g, x = draw(5, 4), draw(5, seed=1), draw(4, seed=2)
    a = (W @ x).numpy()
    length = np.sqrt((W.numpy() ** 2).sum(axis=1))
    expected = equations.eq5(a, 0.0, length, g.numpy(), np.zeros(5), lambda z: z)
    assert_close(weight_norm(W, g) @ x, torch.from_numpy(expected), **EXACT)


def test_unbiased_batch_norm_divides_by_one_case_less() -> None:
    a, g, b = inputs()
    std = (a.var(dim=(0, 2), correction=1, keepdim=True) + 0.1).sqrt()
    expected = g[:, None] * (a - a.mean(dim=(0, 2), keepdim=True)) / std + b[:, None]
    assert_close(batch_norm(a, g, b, eps=0.1, unbiased=True), expected, **EXACT)
    # 30 cases: the biased one is larger by sqrt(30/29), 1.7 %
    ratio = batch_norm(a, eps=0) / batch_norm(a, eps=0, unbiased=True)
    assert_close(ratio, torch.full_like(a, math.sqrt(30 / 29)), **EXACT)


# --------------------------------------------------------------------------------- exact arithmetic

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
@given(
    offset=st.sampled_from([0.0, 1.0, 8.0, 1e3, 1e6]),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    steps=st.lists(st.integers(-99, 99), min_size=2, max_size=8),
    eps=some_eps,
)
def test_gradients_are_those_of_exact_arithmetic(dtype, offset, scale, steps, eps) -> None:
    row = (torch.tensor([steps], dtype=torch.float64) * scale + offset).to(dtype).requires_grad_()
    values = row[0].tolist()
    assume(max(values) > min(values))
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


# --------------------------------------------------------------------------------- torch's own functions


@every_norm
def test_values_and_gradients_are_torchs(name: str) -> None:
    ours, theirs = PAIRS[name]
    args = [t.requires_grad_() for t in inputs()]
    upstream = draw(*ours(*args).shape, seed=3)
    assert_close(ours(*args), theirs(*args), **EXACT)
    got = torch.autograd.grad(ours(*args), args, upstream, allow_unused=True)
    expected = torch.autograd.grad(theirs(*args), args, upstream, allow_unused=True)
    for mine, its in zip(got, expected, strict=True):
        assert (mine is None) == (its is None)
        if mine is not None:
            # gains and biases sum 30 terms
            assert_close(mine, its, rtol=1e-12, atol=1e-12)


@every_norm
def test_first_and_second_derivatives_are_those_of_differences(name: str) -> None:
    ours, _ = PAIRS[name]
    a, g, b = inputs()
    args = [(a[:2, :, :2] + 100).requires_grad_(), g.requires_grad_(), b.requires_grad_()]
    # gradcheck's own tolerances for float64; fast_mode checks along random directions
    torch.autograd.gradcheck(ours, args, check_batched_grad=True, fast_mode=True)
    torch.autograd.gradgradcheck(ours, args, fast_mode=True)


@torch_scripts_itself
@every_norm
def test_inside_transforms_and_vectorized_the_result_is_the_same(name: str) -> None:
    ours, _ = PAIRS[name]
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
    ours, _ = PAIRS[name]
    torch.compiler.reset()
    compiled = torch.compile(ours, fullgraph=True, backend="aot_eager", dynamic=False)
    args = [t.requires_grad_() for t in inputs()]
    assert_close(compiled(*args, eps=0.0), ours(*args, eps=0.0), **EXACT)
    assert_close(compiled(*args), ours(*args), **EXACT)
    gradients = [torch.autograd.grad(f(*args).pow(3).sum(), args[:2]) for f in (compiled, ours)]
    assert_close(*gradients, rtol=1e-11, atol=1e-11)


# ------------------------------------------------------------------------------------------- properties


@given(rows, st.sampled_from([-64.0, 0.5, 1024.0]), st.integers(-1024, 1024))
def test_layer_norm_ignores_shift_and_positive_scale_and_keeps_the_sign_of_scale(
    values, scale, shift
) -> None:
    a = torch.tensor(values, dtype=torch.float64)
    # eighths, scaled by powers of two and shifted by integers: the inputs themselves are not rounded
    assert_close(
        layer_norm(scale * a + shift, eps=0),
        math.copysign(1, scale) * layer_norm(a, eps=0),
        rtol=0,
        atol=1e-13,
    )


def test_one_group_is_layer_norm_and_a_group_a_channel_is_instance_norm() -> None:
    a, _, _ = inputs()
    assert_close(group_norm(a, 1), layer_norm(a.flatten(1)).view_as(a), **EXACT)
    assert_close(group_norm(a, 8), instance_norm(a), **EXACT)


@pytest.mark.parametrize("dims", [(-1,), (1, 2), (-1, -2), (0, 2), (2, 0, 1)])
def test_several_axes_of_units_count_as_one(dims: tuple[int, ...]) -> None:
    a = draw((3, 4, 5))
    sizes = [a.shape[d] for d in dims]
    gain, bias = draw(tuple(sizes), seed=1), draw(tuple(sizes), seed=2)
    expected = F.layer_norm(a.movedim(dims, tuple(range(-len(dims), 0))), sizes, gain, bias)
    assert_close(layer_norm(a, gain, bias, dim=dims).movedim(dims, tuple(range(-len(dims), 0))), expected)


# ------------------------------------------------------------------------------------------- edge inputs


@every_norm
@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_rounded_once_to_the_dtype_of_the_input(name: str, dtype: torch.dtype) -> None:
    ours, _ = PAIRS[name]
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


def test_a_gradient_at_equal_values_is_that_of_the_formula_with_eps() -> None:
    a = torch.full((1, 4), 0.1, dtype=torch.float64, requires_grad=True)
    upstream = torch.tensor([[1.0, 2.0, 3.0, 6.0]], dtype=torch.float64)
    (gradient,) = torch.autograd.grad(layer_norm(a, eps=1e-4), a, upstream)
    # (upstream - its mean) / sqrt(eps)
    assert_close(gradient, torch.tensor([[-200.0, -100.0, 0.0, 300.0]], dtype=torch.float64), **EXACT)


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
    ours, _ = PAIRS[name]
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


@every_norm
def test_any_layout_gives_the_values_of_its_contiguous_copy(name: str) -> None:
    ours, _ = PAIRS[name]
    _, g, b = inputs()
    base = draw(12, 10, 16)
    views = [
        base[::2, ::2, 3:11].mT,
        base[:6, :5, :8].transpose(1, 2),
        draw(8).expand(6, 5, 8).mT,
        draw(5, 6, 8).permute(1, 2, 0),
    ]
    for view in views:
        assert not view.is_contiguous()
        assert_close(ours(view, g, b), ours(view.contiguous(), g, b), **EXACT)


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "weight"])
def test_no_cases_give_an_empty_result_with_a_gradient(name: str) -> None:
    ours, _ = PAIRS[name]
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


def test_given_statistics_without_spread_or_eps_give_the_bias_at_the_mean_and_infinity_beside_it() -> None:
    a = torch.tensor([[3.0, 3.0], [3.0, 4.0]], requires_grad=True)
    mean, var, bias = torch.full((2,), 3.0), torch.zeros(2), torch.tensor([0.5, -1.0])
    out = batch_norm_by(a, mean, var, bias=bias, eps=0)
    assert out.tolist() == [[0.5, -1.0], [0.5, math.inf]]
    (gradient,) = torch.autograd.grad(out[0].sum(), a)
    assert (gradient[0] == 0).all()


def test_a_given_variance_beyond_the_range_gives_nan_in_its_unit_and_no_silent_zeros() -> None:
    out = batch_norm_by(torch.full((2, 2), 1e20), torch.zeros(2), torch.tensor([math.inf, 1e38]))
    assert out[:, 0].isnan().all()
    # a few roundings
    assert_close(out[:, 1], torch.full((2,), 10.0), rtol=1e-6, atol=0)


def test_a_batch_of_one_gives_the_bias_under_batch_norm() -> None:
    bias = draw(8)
    assert (batch_norm(draw(1, 8, seed=1), draw(8, seed=2), bias) == bias).all()


# ----------------------------------------------------------------------------------------------- errors


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

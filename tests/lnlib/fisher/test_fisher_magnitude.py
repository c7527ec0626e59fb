"""The metric along magnitudes: literal equations, the dense Fisher matrix and the divergence itself."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial.hermite_e import hermegauss
from torch import Tensor

import lnlib.equations as eq
from lnlib.fisher import fisher, gain_metric, kl, standard_magnitude_metric
from lnlib.glm import GLM

FAMILIES = (
    "gaussian",
    "gaussian matrix",
    "bernoulli",
    "binomial",
    "poisson",
    "gamma",
    "categorical",
    "reference",
)
NORMS = ("batch", "frozen", "weight", "layer", "rms")
ROUNDING = 1e-12  # relative: sums of some hundred products of numbers near 1


def model(
    family: str, norm: str | None, seed: int = 0, N: int = 7, H: int = 4, D: int = 3
) -> tuple[GLM, Tensor]:
    """A random model and its cases, with natural parameters inside every family's domain."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    X, W, b, g = draw(N, D), draw(H, D), draw(H), 0.3 * draw(H)
    options: dict[str, Any] = {"norm": norm} if norm != "frozen" else {"norm": "batch", "frozen": True}
    if norm is not None:
        options["gain"] = g
    name = family.split()[0]
    if family == "gaussian matrix":
        L = draw(H, H)
        options["dispersion"] = L @ L.mT + torch.eye(H, dtype=torch.float64)
    elif name in ("gaussian", "poisson", "gamma"):
        options["dispersion"] = 0.5
    if name == "gamma":
        W, b = 0.1 * W, -8 - b.abs()
    if name == "binomial":
        options["trials"] = 3
    if family == "reference":
        name, options["reference"] = "categorical", True
    return GLM(name, W, b, **options), X


def growth(H: int) -> Tensor:
    return torch.linspace(-1, 2.2, H, dtype=torch.float64)


def along_gains(glm: GLM, delta_g: Tensor) -> Tensor:
    return glm.pack(torch.zeros_like(glm.W), torch.zeros_like(glm.b), delta_g)


def along_rows(glm: GLM, delta_g: Tensor) -> Tensor:
    return glm.pack(delta_g[:, None] * glm.W / glm.W.norm(dim=1, keepdim=True), torch.zeros_like(glm.b), None)


def curvature(glm: GLM, X: Tensor, step: Tensor) -> float:
    """Half the second derivative of the divergence along the step, by automatic differentiation."""
    t = torch.zeros((), dtype=X.dtype, requires_grad=True)
    divergence = kl(glm, glm.with_theta(glm.theta + t * step), X)
    (slope,) = torch.autograd.grad(divergence, t, create_graph=True)
    return float(torch.autograd.grad(slope, t)[0]) / 2


# -------------------------------------------------------------------------------------- three ways each


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_gain_metric_is_the_fisher_form_and_the_curvature_of_the_divergence(
    family: str, norm: str
) -> None:
    glm, X = model(family, norm)
    step = along_gains(glm, growth(4))
    got = float(gain_metric(glm, X, growth(4)))
    assert got == pytest.approx(float(step @ fisher(glm, X) @ step) / 2, rel=ROUNDING)
    assert got == pytest.approx(curvature(glm, X, step), rel=1e-10)  # two derivatives of logs and exps


@pytest.mark.parametrize("family", FAMILIES)
def test_the_standard_metric_is_the_fisher_form_and_the_curvature_of_the_divergence(family: str) -> None:
    glm, X = model(family, None)
    for rows in ((), (0, 2), (3, 1), (1, 1)):
        delta_g = growth(4) if not rows else growth(4) * torch.isin(torch.arange(4), torch.tensor(rows))
        step = along_rows(glm, delta_g)
        got = float(standard_magnitude_metric(glm, X, growth(4), *rows))
        assert got == pytest.approx(float(step @ fisher(glm, X) @ step) / 2, rel=ROUNDING)
        assert got == pytest.approx(curvature(glm, X, step), rel=1e-10)  # as above


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "categorical"])
def test_the_metrics_are_half_the_second_difference_of_the_divergence(family: str) -> None:
    for norm in ("batch", "layer", "weight", None):
        glm, X = model(family, norm)
        exact = gain_metric(glm, X, growth(4)) if norm else standard_magnitude_metric(glm, X, growth(4))
        step = along_gains(glm, growth(4)) if norm else along_rows(glm, growth(4))
        t = 1e-4
        ends = sum(kl(glm, glm.with_theta(glm.theta + s * step), X) for s in (-t, t))
        # error t^2 of fourth derivatives below 100, and roundings of kl relative to t^2
        assert float(ends / t**2 / 2) == pytest.approx(float(exact), rel=1e-5)


# -------------------------------------------------------------------------------------- the literal print


@pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson", "categorical"])
def test_the_printed_forms_are_the_literal_equations(family: str) -> None:
    delta_g = growth(4)
    for norm in ("batch", "layer", "weight"):
        glm, X = model(family, norm)
        phi, cov, a = float(glm.dispersion), glm.covariance(X).numpy(), (X @ glm.W.mT).numpy()
        mu, sigma = np.array([eq.eq3(row) for row in a]).T
        if norm == "batch":
            literal = eq.eq32(cov, phi, delta_g.numpy())
        elif norm == "layer":
            literal = eq.eq33(cov, a, mu, sigma, phi, delta_g.numpy())
        else:
            literal = eq.eq34(cov, a, glm.W.numpy(), phi, delta_g.numpy())
        printed = float(gain_metric(glm, X, delta_g, printed=True))
        assert printed == pytest.approx(literal, rel=ROUNDING)
        exact = float(gain_metric(glm, X, delta_g))
        if norm == "batch" and family != "gaussian":
            assert abs(printed / exact - 1) > 0.01
        else:
            assert printed == pytest.approx(exact, rel=ROUNDING)


@pytest.mark.parametrize("family", ["gaussian", "gaussian matrix", "bernoulli", "categorical"])
def test_eq35_as_printed_is_the_literal_term_and_the_terms_add_up_to_all_rows(family: str) -> None:
    glm, X = model(family, None)
    a, W = (X @ glm.W.mT).numpy(), glm.W.numpy()
    C = glm.scaled_covariance(X).dense().contiguous().numpy()  # Cov / phi^2: phi = 1 in the print
    total = 0.0
    for i in range(4):
        for j in range(4):
            term = float(standard_magnitude_metric(glm, X, growth(4), i, j, printed=True))
            literal = eq.eq35(C, a, W, 1.0, growth(4).numpy(), i, j)
            assert term == pytest.approx(literal, rel=ROUNDING, abs=1e-16)
            total += term
    assert total == pytest.approx(float(standard_magnitude_metric(glm, X, growth(4))), rel=ROUNDING)


def test_the_printed_pair_is_zero_for_independent_outputs_that_do_move() -> None:
    glm, X = model("bernoulli", None)
    assert standard_magnitude_metric(glm, X, growth(4), 0, 3, printed=True) == 0
    assert standard_magnitude_metric(glm, X, growth(4), 0, 3) > 0.01


# ------------------------------------------------------------------------------------ the size of Eq. (32)


def normal_cases(family: str, g: float, b: float = 0.0) -> tuple[GLM, Tensor, Tensor]:
    """One batch-normalized unit whose normalized summed input is standard normal: nodes and weights."""
    nodes, weights = hermegauss(120)
    one = torch.ones(1, dtype=torch.float64)
    glm = GLM(family, one[:, None], b * one, norm="batch", gain=g * one)
    return glm, torch.tensor(nodes)[:, None], torch.tensor(weights / weights.sum())


def true_over_printed(family: str, g: float, b: float = 0.0) -> float:
    glm, X, weights = normal_cases(family, g, b)
    one = torch.ones(1, dtype=torch.float64)
    return float(gain_metric(glm, X, one, weights) / gain_metric(glm, X, one, weights, printed=True))


@pytest.mark.parametrize("g", [0.0, 0.5, 1.0, 2.0])
def test_eq32_for_poisson_outputs_misses_the_factor_1_plus_g_squared(g: float) -> None:
    # E[exp(g h) h^2] / E[exp(g h)] for standard normal h
    assert true_over_printed("poisson", g, b=0.7) == pytest.approx(1 + g**2, rel=1e-10)  # the quadrature's


def test_eq32_for_bernoulli_outputs_is_43_percent_too_large_at_gain_1() -> None:
    assert 1 / true_over_printed("bernoulli", 1.0) == pytest.approx(1.4326, abs=1e-4)
    assert true_over_printed("bernoulli", 0.0, b=1.5) == pytest.approx(1, rel=ROUNDING)  # a constant variance
    assert true_over_printed("gaussian", 2.0, b=1.5) == pytest.approx(1, rel=ROUNDING)


# ----------------------------------------------------------------------------------------- scale and units


@given(st.floats(1e-3, 1e3), st.sampled_from(["batch", "layer", "weight"]))
def test_gains_do_not_see_the_scale_of_the_weights(scale: float, norm: str) -> None:
    glm, X = model("bernoulli", norm)
    scaled = glm.with_theta(glm.pack(scale * glm.W, glm.b, glm.gain))
    expected = float(gain_metric(glm, X, growth(4)))
    assert float(gain_metric(scaled, X, growth(4))) == pytest.approx(
        expected, rel=1e-11
    )  # |mean|/std times eps


@given(st.floats(1e-3, 1e3))
def test_the_scale_of_the_input_is_seen_by_weight_norm_and_the_standard_model_only(scale: float) -> None:
    for norm in ("batch", "layer", "weight"):
        glm, X = model("gaussian", norm)
        ratio = float(gain_metric(glm, scale * X, growth(4)) / gain_metric(glm, X, growth(4)))
        assert ratio == pytest.approx(scale**2 if norm == "weight" else 1, rel=1e-11)  # as above
    glm, X = model("gaussian", None)
    one, two = (float(standard_magnitude_metric(glm, c * X, growth(4))) for c in (1, scale))
    assert two / one == pytest.approx(scale**2, rel=1e-11)


def test_weighted_cases_count_as_often_as_their_weights_say() -> None:
    for norm in ("batch", "layer", None):
        glm, X = model("poisson", norm)
        metric = gain_metric if norm else standard_magnitude_metric
        times = torch.tensor([1, 2, 0, 1, 3, 1, 1])
        repeated = X.repeat_interleave(times, 0)
        got = metric(glm, X, growth(4), weights=times.double())
        assert float(got) == pytest.approx(float(metric(glm, repeated, growth(4))), rel=ROUNDING)


# ---------------------------------------------------------------------------------------------- the edges


@pytest.mark.parametrize("norm", ["batch", "weight", "layer", "rms"])
@pytest.mark.parametrize(("N", "H", "D"), [(1, 1, 1), (1, 3, 2), (5, 1, 2), (5, 2, 1), (4, 2, 8)])
def test_the_smallest_models_and_rank_deficient_data_agree_with_the_dense_matrix(
    norm: str, N: int, H: int, D: int
) -> None:
    glm, X = model("bernoulli", norm, N=N, H=H, D=D)
    step = along_gains(glm, growth(H))
    expected = float(step @ fisher(glm, X) @ step) / 2
    assert float(gain_metric(glm, X, growth(H))) == pytest.approx(expected, rel=ROUNDING, abs=1e-16)


def test_one_case_of_batch_norm_and_one_unit_of_layer_norm_leave_nothing_to_the_gain() -> None:
    glm, X = model("bernoulli", "batch", N=1)
    assert gain_metric(glm, X, growth(4)) == 0
    glm, X = model("bernoulli", "layer", H=1)
    assert gain_metric(glm, X, growth(1)) == 0


def test_zero_gains_still_have_a_metric_and_saturated_outputs_have_none() -> None:
    glm, X = model("bernoulli", "batch")
    at_rest = glm.with_theta(glm.pack(glm.W, 0 * glm.b, 0 * glm.b))
    expected = float(growth(4).square().sum()) / 8  # variance 1/4, E[a^2] = 1
    assert float(gain_metric(at_rest, X, growth(4))) == pytest.approx(expected, rel=ROUNDING)
    saturated = glm.with_theta(glm.pack(glm.W, glm.b + 800, glm.gain))
    assert 0 <= float(gain_metric(saturated, X, growth(4))) < 1e-300


def test_float32_agrees_with_float64_and_nothing_is_modified() -> None:
    glm, X = model("poisson", "layer")
    before = X.clone(), glm.W.clone()
    small = GLM("poisson", glm.W.float(), glm.b.float(), 0.5, "layer", glm.gain.float())
    got = gain_metric(small, X.float(), growth(4).float())
    assert got.dtype == torch.float32
    assert float(got) == pytest.approx(
        float(gain_metric(glm, X, growth(4))), rel=1e-5
    )  # 100 roundings of 6e-8
    assert torch.equal(X, before[0])
    assert torch.equal(glm.W, before[1])


# -------------------------------------------------------------------------------------------- wrong input


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("norm", "delta_g", "options", "error", "message"),
    [
        (None, growth(4), {}, ValueError, "no gains; use standard_magnitude_metric"),
        ("rms", growth(4), {"printed": True}, ValueError, "prints no equation for rms"),
        ("layer", growth(3), {}, ValueError, r"shape \(3,\); give one number a unit: \(4,\)"),
        ("layer", growth(4).float(), {}, TypeError, "float32 and the model torch.float64"),
        ("layer", growth(4) / 0, {}, ValueError, "NaN or infinity"),
    ],
)
def test_a_gain_metric_that_means_nothing_is_refused(
    norm: str | None, delta_g: Tensor, options: dict[str, bool], error: type[Exception], message: str
) -> None:
    glm, X = model("gaussian", norm)
    with pytest.raises(error, match=message):
        gain_metric(glm, X, delta_g, **options)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("rows", "printed", "error", "message"),
    [
        ((0,), False, ValueError, r"pair of rows is \(0, None\); give both"),
        ((), True, ValueError, "give i and j with printed=True"),
        ((0, 4), False, IndexError, r"\(0, 4\); the model has rows 0\.\.3"),
        ((-1, 2), False, IndexError, r"\(-1, 2\)"),
    ],
)
def test_rows_that_do_not_exist_are_refused(
    rows: tuple[int, ...], printed: bool, error: type[Exception], message: str
) -> None:
    glm, X = model("gaussian", None)
    with pytest.raises(error, match=message):
        standard_magnitude_metric(glm, X, growth(4), *rows, printed=printed)


def test_a_normalized_model_and_a_row_without_direction_are_refused() -> None:
    glm, X = model("gaussian", "layer")
    with pytest.raises(ValueError, match=r"norm 'layer'.*use gain_metric"):
        standard_magnitude_metric(glm, X, growth(4))
    glm, X = model("gaussian", None)
    W = glm.W.clone()
    W[1] = 0
    flat = GLM("gaussian", W, glm.b, 0.5)
    with pytest.raises(ValueError, match=r"rows \[1\] of W are zero.*set their delta_g to 0"):
        standard_magnitude_metric(flat, X, growth(4))
    resting = growth(4)
    resting[1] = 0
    assert bool(torch.isfinite(standard_magnitude_metric(flat, X, resting)))
    assert bool(torch.isfinite(standard_magnitude_metric(flat, X, growth(4), 0, 2)))

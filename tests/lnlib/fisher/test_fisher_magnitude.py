"""The metric along magnitudes: literal equations and the dense Fisher matrix."""

from itertools import product

import glms
import numpy as np
import pytest
import torch
from glms import FAMILIES
from torch import Tensor

import lnlib.equations as eq
from lnlib.fisher import fisher, gain_metric, standard_magnitude_metric
from lnlib.glm import GLM

NORMS = ("batch", "weight", "layer", "rms")
ROUNDING = 1e-12  # relative: sums of some hundred products of numbers near 1


def model(family: str, norm: str | None, N: int = 7, H: int = 4, D: int = 3) -> tuple[GLM, Tensor]:
    return glms.model(family, norm, N=N, H=H, D=D)


def growth(H: int) -> Tensor:
    return torch.linspace(-1, 2.2, H, dtype=torch.float64)


def along_gains(glm: GLM, delta_g: Tensor) -> Tensor:
    return glm.pack(torch.zeros_like(glm.W), torch.zeros_like(glm.b), delta_g)


def along_rows(glm: GLM, delta_g: Tensor) -> Tensor:
    return glm.pack(delta_g[:, None] * glm.W / glm.W.norm(dim=1, keepdim=True), torch.zeros_like(glm.b), None)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_metrics_are_the_fisher_form(family: str) -> None:
    for norm in NORMS:
        glm, X = model(family, norm)
        step = along_gains(glm, growth(4))
        got = float(gain_metric(glm, X, growth(4)))
        assert got == pytest.approx(float(step @ fisher(glm, X) @ step) / 2, rel=ROUNDING)
    glm, X = model(family, None)
    for rows in ((), (0, 2), (3, 1), (1, 1)):
        delta_g = growth(4) if not rows else growth(4) * torch.isin(torch.arange(4), torch.tensor(rows))
        step = along_rows(glm, delta_g)
        got = float(standard_magnitude_metric(glm, X, growth(4), *rows))
        assert got == pytest.approx(float(step @ fisher(glm, X) @ step) / 2, rel=ROUNDING)


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


@pytest.mark.parametrize("family", ["gaussian", "gaussian, variance", "bernoulli", "categorical"])
def test_the_terms_of_eq35_add_up_to_the_step_of_two_rows_and_of_all(family: str) -> None:
    glm, X = model(family, None)
    a, W = (X @ glm.W.mT).numpy(), glm.W.numpy()
    C = glm.scaled_covariance(X).dense().contiguous().numpy()  # Cov / phi^2: phi = 1 in the print
    for rows in ((), (3, 1)):
        pairs = product(rows or range(4), repeat=2)
        total = sum(eq.eq35(C, a, W, 1.0, growth(4).numpy(), i, j) for i, j in pairs)
        found = float(standard_magnitude_metric(glm, X, growth(4), *rows))
        assert found == pytest.approx(total, rel=ROUNDING)


def test_weighted_cases_count_as_often_as_their_weights_say() -> None:
    for norm in ("batch", "layer", None):
        glm, X = model("poisson", norm)
        metric = gain_metric if norm else standard_magnitude_metric
        times = torch.tensor([1, 2, 0, 1, 3, 1, 1])
        repeated = X.repeat_interleave(times, 0)
        got = metric(glm, X, growth(4), weights=times.double())
        assert float(got) == pytest.approx(float(metric(glm, repeated, growth(4))), rel=ROUNDING)


def test_one_case_of_batch_norm_and_one_unit_of_layer_norm_leave_nothing_to_the_gain() -> None:
    glm, X = model("bernoulli", "batch", N=1)
    assert gain_metric(glm, X, growth(4)) == 0
    glm, X = model("bernoulli", "layer", H=1)
    assert gain_metric(glm, X, growth(1)) == 0


GAIN, ROWS = gain_metric, standard_magnitude_metric
REFUSED = [  # metric, norm, growth, options, error, message
    (GAIN, "layer", growth(3), {}, ValueError, r"delta_g has shape \(3,\); give it as \(4,\)"),
    (GAIN, "layer", growth(4).float(), {}, TypeError, "delta_g is of type torch.float32; give"),
    (GAIN, "layer", growth(4) / 0, {}, ValueError, "delta_g contains NaN or infinity"),
    (GAIN, None, growth(4), {}, ValueError, "no gains; use standard_magnitude_metric"),
    (GAIN, "rms", growth(4), {"printed": True}, ValueError, "prints no equation for rms"),
    (ROWS, "layer", growth(4), {}, ValueError, r"norm 'layer'.*use gain_metric"),
    (ROWS, None, growth(4), {"i": 0}, ValueError, r"pair of rows is \(0, None\); give both"),
    (ROWS, None, growth(4), {"i": -1, "j": 4}, IndexError, r"\(-1, 4\); the model has rows 0\.\.3"),
]


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(("metric", "norm", "delta_g", "options", "error", "message"), REFUSED)
def test_metrics_that_mean_nothing_are_refused(metric, norm, delta_g, options, error, message):
    glm, X = model("gaussian", norm)
    with pytest.raises(error, match=message):
        metric(glm, X, delta_g, **options)


def test_a_zero_row_that_is_to_grow_is_refused() -> None:
    glm, X = model("gaussian", None)
    glm.W[1] = 0
    with pytest.raises(ValueError, match=r"rows \[1\] of W are zero.*set their delta_g to 0"):
        standard_magnitude_metric(glm, X, growth(4))

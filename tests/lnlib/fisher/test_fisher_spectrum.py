"""The null space: found, counted on paper, and the same whatever the units of the features."""

from itertools import product

import pytest
import torch
from glms import FAMILIES, NORMS, draw, model, relative

from lnlib import GLM
from lnlib.fisher import FisherOperator, fisher, nullity_in_theory, printed_eq13, spectrum

# units, features, and the dimensions they span: every small case, the slides of wide layers, no data for some
SIZES = [(1, 1, 1), (1, 3, 2), (2, 1, 1), (2, 3, 2), (2, 3, 3), (3, 1, 1), (3, 2, 2), (4, 3, 1), (4, 3, 3)]
SIZES += [(6, 2, 2), (6, 5, 2), (11, 3, 3), (11, 5, 3), (5, 5, 5)]


def generic(family, norm, H, D, r, eps=0.0):
    """A model and as few cases as the theory asks for, in general position in r dimensions."""
    glm, X = model(family, norm, H=H, D=D, N=max(4, r * (r + 5) // 2 + 1), seed=H + D, eps=eps)
    return glm, X[:, :r] @ draw(r, D, seed=r) if r < D else X


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("family", ["bernoulli", "categorical", "reference"])
def test_the_nullity_is_the_one_counted_on_paper(family, norm):
    for (H, D, r), eps in product(SIZES, [0.0] if norm in (None, "weight") else [0.0, 0.1]):
        glm, X = generic(family, norm, H, D, r, eps)
        found = FisherOperator(glm, X).null_space()
        assert found.nullity == nullity_in_theory(glm, X), (H, D, r, eps, found)
        assert found.gap > 1e6, (H, D, r, eps, found)


@pytest.mark.parametrize(("H", "D"), [(3, 2), (4, 5), (6, 2), (8, 3), (12, 3), (12, 4), (20, 4)])
def test_independent_outputs_hide_what_the_formulas_say(H, D):
    """Generic weights: the lengths of H rows; or shift, scale and slides; or 2D for a sign."""
    for norm, expected in (
        ("batch", H),
        ("weight", H),
        ("layer", max(D + 1, H + 1 - D * (D + 1) // 2)),
        ("rms", max(1, H + 1 - D * (D + 1) // 2)),
    ):
        assert nullity_in_theory(*generic("bernoulli", norm, H, D, D)) == expected
    assert nullity_in_theory(*generic("bernoulli", "layer", 2, D, D)) == 2 * D


@pytest.mark.parametrize(("H", "D"), [(3, 2), (4, 5), (6, 2), (12, 3)])
def test_a_softmax_hides_more(H, D):
    for norm, expected in (
        (None, D + 1),
        ("batch", H + D + 1),
        ("weight", H + D + 1),
        ("layer", D + 2 + max(0, H - D * (D + 1) // 2)),
    ):
        assert nullity_in_theory(*generic("categorical", norm, H, D, D)) == expected


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_the_printed_matrix_sees_all_of_them(norm):
    glm, X = generic("bernoulli", norm, 6, 3, 3)
    assert FisherOperator(glm, X).null_space().nullity > 0
    assert FisherOperator(glm, X, printed=True).null_space().nullity == 0
    assert float(torch.linalg.eigvalsh(printed_eq13(glm, X)).min()) > 1e-8


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("norm", NORMS)
def test_the_basis_is_orthonormal_and_the_matrix_takes_it_to_zero(family, norm):
    glm, X = model(family, norm, N=3, D=4)
    found = FisherOperator(glm, X).null_space()
    F = fisher(glm, X)
    assert found.nullity > 0
    assert relative(found.basis.mT @ found.basis, torch.eye(found.nullity, dtype=X.dtype)) <= 1e-13
    assert float((F @ found.basis).norm()) <= 1e-12 * float(F.norm())
    assert found.basis.shape == (len(F), found.nullity)
    assert len(found.singular_values) == len(F)


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_scaling_all_weights_is_invisible_and_so_is_layer_norms_common_shift(norm):
    glm, X = generic("bernoulli", norm, 5, 3, 3)
    basis = FisherOperator(glm, X).null_space().basis
    zero = torch.zeros_like(glm.b)
    scale = glm.pack(glm.W, zero, zero)
    shift = glm.pack(torch.ones_like(glm.b)[:, None] * draw(3, seed=5), zero, zero)
    for direction, hidden in ((scale, True), (shift, norm == "layer")):
        left = float((direction - basis @ (basis.mT @ direction)).norm() / direction.norm())
        assert (left <= 1e-12) == hidden
        assert hidden or left > 0.1


@pytest.mark.parametrize("norm", NORMS)
def test_units_of_the_features_do_not_change_the_count(norm):
    glm, X = model("bernoulli", norm, N=30, D=4, H=5)
    scales = torch.tensor([1e6, 1.0, 1e-6, 1.0], dtype=torch.float64)
    plain = FisherOperator(glm, X).null_space()
    scaled = GLM("bernoulli", glm.W / scales, glm.b, norm=glm.norm, gain=glm.gain, frozen=glm.frozen)
    found = FisherOperator(scaled, X * scales).null_space()
    assert found.nullity == plain.nullity
    assert found.gap > 1e6


def test_a_matrix_without_scaled_columns_would_miscount():
    glm, X = model("bernoulli", N=30, D=4, H=2)
    scales = torch.tensor([1e9, 1.0, 1e-9, 1.0], dtype=torch.float64)
    glm = GLM("bernoulli", glm.W / scales, glm.b)
    assert FisherOperator(glm, X * scales).null_space().nullity == 0
    F = fisher(glm, X * scales)
    assert int(torch.linalg.matrix_rank(F, hermitian=True)) < len(F)


def test_the_gap_tells_how_sure_the_count_is():
    glm, X = model("gaussian", N=40, D=2, H=1)
    X[:, 1] = X[:, 0] + 1e-9 * X[:, 1]  # nearly the same feature twice
    operator = FisherOperator(glm, X)
    assert operator.null_space().nullity == 0
    loose = operator.null_space(tolerance=1e-6)
    assert loose.nullity == 1
    assert 1e7 < loose.gap < 1e11
    assert repr(loose).startswith("NullSpace(nullity=1 of 3, gap=")
    assert operator.null_space(tolerance=0.0).gap == float("inf")


def test_the_triangle_of_many_cases_is_carried_along(monkeypatch):
    glm, X = generic("categorical", "layer", 4, 3, 3)
    whole = FisherOperator(glm, X).null_space()
    monkeypatch.setattr(spectrum, "BLOCK_NUMBERS", 1)
    found = FisherOperator(glm, X).null_space()
    assert found.nullity == whole.nullity
    assert relative(found.singular_values, whole.singular_values) <= 1e-13
    assert relative(found.basis @ found.basis.mT, whole.basis @ whole.basis.mT) <= 1e-10


def test_float32_counts_the_same():
    for norm in NORMS:
        glm, X = generic("categorical", norm, 5, 3, 3)
        count = FisherOperator(glm, X).null_space().nullity
        single = GLM(
            "categorical",
            glm.W.float(),
            glm.b.float(),
            norm=glm.norm,
            gain=None if glm.gain is None else glm.gain.float(),
            frozen=glm.frozen,
        )
        found = FisherOperator(single, X.float()).null_space()
        assert (found.nullity, found.gap > 100) == (count, True)


def test_cases_of_weight_zero_see_nothing():
    glm, X = model("bernoulli", "layer", N=40, D=3, H=5)
    weights = torch.zeros(40, dtype=torch.float64)
    weights[:2] = 1
    few = FisherOperator(glm, X[:2]).null_space()
    assert FisherOperator(glm, X, weights).null_space().nullity == few.nullity > 4


@pytest.mark.parametrize("tolerance", [-1e-3, 1.0, float("nan")])
def test_a_tolerance_is_a_fraction(tolerance):
    glm, X = model("gaussian")
    with pytest.raises(ValueError, match=rf"tolerance is {tolerance}; it is relative, give a number in 0..1"):
        FisherOperator(glm, X).null_space(tolerance)


def test_the_theory_says_where_it_ends():
    glm, X = generic("bernoulli", "layer", 4, 3, 3)
    with pytest.raises(ValueError, match=r"5 cases span 3 dimensions; the argument needs at least 13 cases"):
        nullity_in_theory(glm, X[:5])
    zero = GLM("bernoulli", glm.W, glm.b, norm="layer", gain=torch.zeros_like(glm.b))
    with pytest.raises(ValueError, match=r"a gain is 0, and its unit sees nothing of its weights"):
        nullity_in_theory(zero, X)
    parallel = GLM("bernoulli", glm.b[:, None] * glm.W[:1], glm.b, norm="layer")
    with pytest.raises(ValueError, match=r"the rows of W are parallel"):
        nullity_in_theory(parallel, X)


def test_equal_rows_normalize_to_the_biases():
    glm, X = generic("bernoulli", "layer", 4, 3, 3)
    equal = GLM("bernoulli", glm.W[:1].expand(4, -1), glm.b, norm="layer")
    assert nullity_in_theory(equal, X) == equal.theta.numel() - 4

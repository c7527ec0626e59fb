"""The null space: as counted on paper, and the same whatever the units of the features."""

import pytest
import torch
from glms import FAMILIES, NORMS, draw, model, relative

from lnlib import GLM
from lnlib.fisher import FisherOperator, fisher, operator


def generic(family, norm, H, D, r, eps=0.0):
    """A model and enough cases, r (r + 5) / 2 + 1, in general position in r dimensions."""
    glm, X = model(family, norm, H=H, D=D, N=max(4, r * (r + 5) // 2 + 1), seed=H + D, eps=eps)
    return glm, X[:, :r] @ draw(r, D, seed=r) if r < D else X


# the unit's own weights seen by no case: H (D - r); lengths of rows; shift, scale and slides; a sign, 2r
HIDDEN = {
    (None, False): lambda H, r: 0,
    ("batch", False): lambda H, r: H,
    ("weight", False): lambda H, r: H,
    ("layer", False): lambda H, r: 2 * r if H == 2 else max(r + 1, H + 1 - r * (r + 1) // 2),
    ("rms", False): lambda H, r: max(1, H + 1 - r * (r + 1) // 2),
    (None, True): lambda H, r: r + 1,  # a softmax forgets an affine function
    ("batch", True): lambda H, r: H + r + 1,
    ("weight", True): lambda H, r: H + r + 1,
    ("layer", True): lambda H, r: r + 2 + max(0, H - r * (r + 1) // 2),
}


@pytest.mark.parametrize(("norm", "softmax"), HIDDEN)
@pytest.mark.parametrize(
    ("H", "D", "r"), [(3, 2, 2), (4, 5, 5), (6, 2, 2), (6, 5, 2), (8, 3, 3), (11, 5, 3), (12, 4, 4)]
)
def test_generic_weights_hide_what_the_formulas_say(norm, softmax, H, D, r):
    glm, X = generic("categorical" if softmax else "bernoulli", norm, H, D, r)
    found = FisherOperator(glm, X).null_space()
    assert found.nullity == H * (D - r) + HIDDEN[norm, softmax](H, r)
    assert found.gap > 1e6
    if norm == "layer" and not softmax:
        assert FisherOperator(*generic("bernoulli", "layer", 2, D, D)).null_space().nullity == 2 * D
        smooth = FisherOperator(*generic("bernoulli", norm, H, D, r, eps=0.1)).null_space()
        assert smooth.nullity == found.nullity - 1  # with an epsilon the scale is seen


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


@pytest.mark.parametrize("norm", NORMS)
def test_neither_units_of_the_features_nor_float32_change_the_count(norm):
    glm, X = model("bernoulli", norm, N=30, D=4, H=5)
    scales = torch.tensor([1e6, 1.0, 1e-6, 1.0], dtype=torch.float64)
    plain = FisherOperator(glm, X).null_space()
    scaled = GLM("bernoulli", glm.W / scales, glm.b, norm=glm.norm, gain=glm.gain)
    found = FisherOperator(scaled, X * scales).null_space()
    assert found.nullity == plain.nullity
    assert found.gap > 1e6
    wide, narrow = (
        FisherOperator(*model("categorical", norm, H=5, D=3, N=13, seed=8, dtype=dtype)).null_space()
        for dtype in (torch.float64, torch.float32)
    )
    assert narrow.nullity == wide.nullity
    assert narrow.gap > 100


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
    for bad in (-1e-3, 1.0, float("nan")):
        with pytest.raises(ValueError, match=rf"tolerance is {bad}; it is relative, give a number in 0..1"):
            operator.null_space(bad)


def test_the_triangle_of_many_cases_is_carried_along(monkeypatch):
    glm, X = generic("categorical", "layer", 4, 3, 3)
    whole = FisherOperator(glm, X).null_space()
    monkeypatch.setattr(operator, "CHUNK_NUMBERS", 1)
    found = FisherOperator(glm, X).null_space()
    assert found.nullity == whole.nullity
    assert relative(found.singular_values, whole.singular_values) <= 1e-13
    assert relative(found.basis @ found.basis.mT, whole.basis @ whole.basis.mT) <= 1e-10

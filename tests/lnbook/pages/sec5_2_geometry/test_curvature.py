"""Section 5.2's small models: Eqs. (8) and (13) tested where the answer is known."""

import numpy as np
import pytest
import torch

from lnbook.pages.sec5_2_geometry import curvature
from lnlib.fisher import fisher


def test_a_plain_gaussian_model_has_no_remainder_and_others_a_cubic_one() -> None:
    steps = np.array([1e-3, 2e-3])
    divergence, missed, _ = curvature.remainder(*curvature.tiny("gaussian", None), steps)
    assert (missed < 1e-12 * divergence).all()  # quadratic: rounding only
    for norm in ("batch", "weight", "layer", "rms"):
        divergence, missed, cases = curvature.remainder(*curvature.tiny("gaussian", norm), steps)
        # the next order adds a relative error of the size of the step
        assert missed[1] / missed[0] == pytest.approx(8, rel=0.05)
        assert divergence[1] / divergence[0] == pytest.approx(4, rel=0.05)
        np.testing.assert_allclose(cases.mean(1), 1, rtol=0.01)
        assert cases.max() > 1.2


def test_a_definition_with_a_factor_too_much_shows_in_the_residuals_of_listable_families_only() -> None:
    right = curvature.residuals(lambda glm, X, ys: fisher(glm, X))
    wrong = curvature.residuals(lambda glm, X, ys: 2 * fisher(glm, X))
    for family, row in right.items():
        assert max(row) < 1e-12  # float64: the Hessian of the divergence, by autograd
        assert (min(wrong[family]) == pytest.approx(0.5)) == (family in curvature.OUTCOMES)


@pytest.mark.parametrize("norm", ["batch", "weight", "layer"])
def test_the_scalars_normalize_the_summed_inputs(norm) -> None:
    glm, X = curvature.tiny("gaussian", norm)
    mean, std = curvature.scalars(glm, X)
    z = glm.gain * (X @ glm.W.T - mean) / std + glm.b
    # rounding: sums of 20 products of numbers near 1
    torch.testing.assert_close(z, glm.natural(X), rtol=1e-12, atol=1e-12)


def test_the_misfit_falls_in_one_norm_and_grows_in_the_other() -> None:
    small, large = (np.mean([curvature.misfit(H, s) for s in range(3)], axis=0) for H in (8, 32))
    # a fourfold width halves the Frobenius error, up to the next order in 1/H
    assert small[0] / large[0] == pytest.approx(2, rel=0.1)
    assert large[1] > small[1] + 0.1


def test_the_exact_matrix_is_blind_to_scale_and_shift_and_the_printed_one_is_not() -> None:
    found = curvature.blind(16, seed=0)
    for name in ("scale", "shift"):
        exact, printed = found[name]
        assert abs(exact) < 1e-12  # of an average direction: rounding in sums of 400 cases
        assert printed > 0.5


def test_a_whole_matrix_quarters_its_curvature_and_one_row_of_many_hardly_changes_it() -> None:
    assert curvature.row_factor(16, slice(None), 0) == pytest.approx(0.25, rel=1e-12)  # as above
    one = [curvature.row_factor(H, 0, 0) for H in (4, 16, 64)]
    assert one == sorted(one)
    assert one[0] < 0.7 < 0.8 < one[-1]


@pytest.mark.parametrize(("norm", "rows"), [("batch", 0), ("weight", 0), ("layer", slice(None))])
def test_a_plane_of_weights_is_flat_along_them_where_the_norm_is_invisible(norm, rows) -> None:
    short, long = (curvature.plane_metric(norm, rows, length, 0) for length in (1, 3))
    # rounding, which the threefold row makes nine times as large
    assert abs(short[1, 1]) < 1e-12 * short[0, 0]
    assert float(short[0, 0] / long[0, 0]) == pytest.approx(9, rel=1e-10)


def test_a_plane_without_a_norm_is_the_same_at_any_length_and_one_row_under_layer_norm_is_seen() -> None:
    torch.testing.assert_close(*(curvature.plane_metric(None, 0, length, 0) for length in (1, 3)))
    assert curvature.plane_metric("layer", 0, 1, 0)[1, 1] > 0.1

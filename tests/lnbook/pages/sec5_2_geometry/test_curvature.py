"""Section 5.2's small models: Eq. (13) tested where the answer is known."""

import numpy as np
import pytest
import torch

from lnbook.pages.sec5_2_geometry import curvature


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

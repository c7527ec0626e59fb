"""Section 5.2's small models: Eq. (13) tested where the answer is known."""

import pytest
import torch

from lnbook.pages.sec5_2_geometry import curvature


@pytest.mark.parametrize(("norm", "rows"), [("batch", 0), ("weight", 0), ("layer", slice(None))])
def test_a_plane_of_weights_is_flat_along_them_where_the_norm_is_invisible(norm, rows) -> None:
    short, long = (curvature.plane_metric(norm, rows, length, 0) for length in (1, 3))
    # rounding, which the threefold row makes nine times as large
    assert abs(short[1, 1]) < 1e-12 * short[0, 0]
    assert float(short[0, 0] / long[0, 0]) == pytest.approx(9, rel=1e-10)


def test_a_plane_without_a_norm_is_the_same_at_any_length_and_one_row_under_layer_norm_is_seen() -> None:
    torch.testing.assert_close(*(curvature.plane_metric(None, 0, length, 0) for length in (1, 3)))
    assert curvature.plane_metric("layer", 0, 1, 0)[1, 1] > 0.1

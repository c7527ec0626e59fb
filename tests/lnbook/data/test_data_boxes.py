"""The vector of features of a picture that one can check by hand."""

import numpy as np

from lnbook.data.boxes import Boxes, featurize

# On 200 x 100: two of class 2, at the left and at the right, and a larger one of class 0 below the middle.
CORNERS = np.array([[0.0, 0.0, 40.0, 20.0], [160.0, 0.0, 200.0, 20.0], [60.0, 50.0, 140.0, 100.0]])
PICTURE = Boxes(200, 100, CORNERS, np.array([2, 2, 0]))


def test_a_picture_by_hand() -> None:
    counts = [np.log(2), 0, np.log(3), 0]
    areas = [np.log(1 + 100 * 0.4 * 0.5), 0, np.log(1 + 100 * 2 * 0.2 * 0.2), 0]
    across, down = [0, 0, 0, 0], [0.75 - 0.5, 0, 0.1 - 0.5, 0]
    largest = [1, 0, 0, 0, 0, 0.75 - 0.5, 0.4, 0.5]
    expected = np.array([*counts, *areas, *across, *down, *largest])
    found = featurize(PICTURE, 4)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), atol=1e-7)  # float32


def test_features_do_not_depend_on_the_size_of_the_picture_or_the_order_of_its_boxes() -> None:
    larger = Boxes(600, 300, 3 * CORNERS[::-1], PICTURE.classes[::-1].copy())
    np.testing.assert_allclose(featurize(larger, 4), featurize(PICTURE, 4), atol=1e-7)
    moved = Boxes(200, 100, CORNERS + np.array([20.0, 0.0, 20.0, 0.0]), PICTURE.classes)
    assert np.abs(featurize(moved, 4) - featurize(PICTURE, 4)).max() > 0.01

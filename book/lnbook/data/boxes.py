r"""A picture without its pixels: boxes around objects, and a vector of features made of them.

For each class $k$ with $n_k$ boxes, measured in the picture's own width and height:

$$\log(1+n_k), \quad \log(1 + 100\,\textstyle\sum \text{area}), \quad
\bar x_k - \tfrac12, \quad \bar y_k - \tfrac12,$$

all 0 where $n_k=0$; then the class of the largest box (a one among zeros), and its center, width and height.
The whole vector is scaled to length 1, as the features of Vendrov and others' convnet are.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64, Int64


@dataclass(frozen=True)
class Boxes:
    """Where the objects of one picture are: one box at least."""

    width: float  # of the picture
    height: float
    corners: Float64[np.ndarray, "B 4"]  # left, top, right, bottom of each box, in the same unit; y goes down
    classes: Int64[np.ndarray, " B"]


def featurize(boxes: Boxes, classes: int) -> Float32[np.ndarray, " F"]:
    r"""The vector of the module's text: $F = 5\cdot$`classes`$+4$ numbers of length 1.

    *Source* ours, in place of a convnet's features of the pixels: each photograph has a licence of its own.
    """
    left, top, right, bottom = (boxes.corners / np.tile([boxes.width, boxes.height], 2)).T
    shape = np.stack([(left + right) / 2 - 0.5, (top + bottom) / 2 - 0.5, right - left, bottom - top])
    area = shape[2] * shape[3]
    ones = np.ones(len(area))
    count, areas, *centers = (np.bincount(boxes.classes, x, classes) for x in (ones, area, *shape[:2]))
    largest = int(area.argmax())
    middles = [center / np.maximum(count, 1) for center in centers]
    which = np.eye(classes)[boxes.classes[largest]]
    parts = [np.log1p(count), np.log1p(100 * areas), *middles, which, shape[:, largest]]
    vector = np.concatenate(parts)
    return (vector / np.linalg.norm(vector)).astype(np.float32)

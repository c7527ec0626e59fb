"""Numbers that a reader gives to a figure."""

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

__all__ = ["as_array"]


def as_array(figure: str, values: ArrayLike | Tensor, **axes: tuple[int, int]) -> np.ndarray:
    """An array or tensor as float64, once the figure is known to be able to show it.

    Args:
        figure: its name, for the message.
        values: numbers; a tensor may need gradients.
        axes: what lies along each axis, with the least and the most that can be shown.

    Raises:
        ValueError: another number of axes, a size that cannot be shown, or a number that is not finite.

    >>> as_array("axis_flip", [[1, 2]], cases=(1, 12), units=(1, 10)).tolist()
    [[1.0, 2.0]]
    """
    plain = values.detach().cpu().double() if isinstance(values, Tensor) else values
    array = np.asarray(plain, dtype=np.float64)
    sizes = zip(axes.values(), array.shape, strict=False)
    if array.ndim != len(axes) or not all(least <= size <= most for (least, most), size in sizes):
        shown = " by ".join(f"{least} to {most} {noun}" for noun, (least, most) in axes.items())
        raise ValueError(f"{figure} shows {shown}, got shape {array.shape}; reshape it or give a part of it")
    if not np.isfinite(array).all():
        raise ValueError(f"{figure}: a number is {array[~np.isfinite(array)][0]}; give finite ones")
    return array

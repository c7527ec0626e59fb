"""Numbers that a reader gives to a figure."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

__all__ = ["as_array"]


def as_array(figure: str, name: str, values: ArrayLike | Tensor, **axes: tuple[int, int]) -> np.ndarray:
    """An array or tensor as float64, once the figure is known to be able to show it.

    Args:
        figure, name: of the figure and of its argument, for the message.
        values: numbers; a tensor may need gradients.
        axes: what lies along each axis, with the least and the most that can be shown.

    Raises:
        ValueError: another number of axes, a size that cannot be shown, or a number that is not finite.

    >>> as_array("axis_flip", "a", [[1, 2]], cases=(1, 12), units=(1, 10)).tolist()
    [[1.0, 2.0]]
    """
    plain = values.detach().cpu().double() if isinstance(values, Tensor) else values
    array = np.asarray(plain, dtype=np.float64)
    if array.ndim != len(axes):
        raise ValueError(
            f"{figure}: {name} is ({', '.join(axes)}), got shape {array.shape}; reshape or index it"
        )
    for (noun, limits), size in zip(axes.items(), array.shape, strict=True):
        least, most = limits
        if not least <= size <= most:
            raise ValueError(
                f"{figure}: {least} to {most} {noun} can be shown, got {size}; "
                f"give {'more' if size < least else 'fewer'}"
            )
    if not np.isfinite(array).all():
        where = tuple(np.argwhere(~np.isfinite(array))[0])
        at = ", ".join(map(str, where))
        raise ValueError(f"{figure}: numbers must be finite, and {name}[{at}] is {array[where]}; replace it")
    return array

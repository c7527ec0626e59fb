"""Numbers that a reader gives to a figure."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from torch import Tensor

__all__ = ["as_array"]


def as_array(figure: str, name: str, values: ArrayLike | Tensor) -> np.ndarray:
    """An array or tensor as float64, once all of its numbers are known to be finite.

    *Source* ours.

    Args:
        figure, name: of the figure and of its argument, for the message.
        values: any shape; a tensor may need gradients.

    Returns:
        The numbers.

    Raises:
        ValueError: not finite; the message names the first such number.

    >>> as_array("axis_flip", "a", [1, 2]).tolist()
    [1.0, 2.0]
    """
    plain = values.detach().cpu().double() if isinstance(values, Tensor) else values
    array = np.asarray(plain, dtype=np.float64)
    if not np.isfinite(array).all():
        where = tuple(np.argwhere(~np.isfinite(array))[0])
        at = ", ".join(map(str, where))
        raise ValueError(f"{figure}: numbers must be finite, and {name}[{at}] is {array[where]}; replace it")
    return array

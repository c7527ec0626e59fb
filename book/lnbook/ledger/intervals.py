"""Confidence intervals over seeds: what a handful of runs knows about the next one."""

from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit  # Student's t; scipy.stats takes a second to import

LEVEL = 0.05  # how often an interval misses, and chance alone decides a sentence: intervals are of 95 %
TWO_SIDED = 1 - LEVEL / 2  # the quantile at an interval's upper end


def interval(values: Sequence[float] | np.ndarray) -> tuple[float, float, float]:
    """Mean of independent measurements and its 95 % interval: Student's t over n - 1 degrees of freedom.

    >>> [round(v, 3) for v in interval([1.0, 2.0, 3.0])]
    [2.0, -0.484, 4.484]
    """
    if len(values) < 2:
        raise ValueError(f"an interval needs at least 2 measurements, got {len(values)}; use more seeds")
    mean = float(np.mean(values))
    half = float(stdtrit(len(values) - 1, TWO_SIDED) * np.std(values, ddof=1) / np.sqrt(len(values)))
    return mean, mean - half, mean + half

"""Several experiments' factors together: a random-effects summary of the races of Section 6."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from lnbook.ledger.intervals import TWO_SIDED


class Pooled(NamedTuple):
    """A random-effects summary of several experiments' factors."""

    value: float  # the geometric mean of the experiments' true factors
    low: float  # its 95 % interval
    high: float
    next_low: float  # where the true factor of one more experiment lies (95 % prediction interval)
    next_high: float
    heterogeneity: float  # I squared, the share of the spread that seeds do not explain


def pooled(experiments: Sequence[Sequence[float]]) -> Pooled:
    r"""Several experiments' factors together, each with a true factor of its own.

    With $y_k$ the mean log factor of experiment k of K, $v_k$ its squared standard error over seeds, and
    $w_k=1/v_k$: DerSimonian and Laird's $\tau^2=\max(0,(Q-K+1)/(\sum w-\sum w^2/\sum w))$ with
    $Q=\sum w(y-\bar y_w)^2$ is the variance between experiments. The mean has weights $1/(v_k+\tau^2)$, its
    interval is Hartung and Knapp's, of Student's t over K - 1, and that of the next experiment adds
    $\tau^2$ and has K - 2.

    *Source* DerSimonian and Laird (1986); Hartung and Knapp (2001); Higgins and others (2009).

    Args:
        experiments: factors above 0, one a seed; at least three experiments of two seeds.

    >>> all_alike = pooled([[2.0, 2.1, 1.9], [2.0, 2.2, 1.8], [2.0, 1.9, 2.1]])
    >>> round(all_alike.value, 1), all_alike.heterogeneity
    (2.0, 0.0)
    """
    logs = [np.log(np.asarray(one, dtype=float)) for one in experiments]
    y = np.array([one.mean() for one in logs])
    v = np.array([one.var(ddof=1) / len(one) for one in logs])
    w, K = 1 / v, len(y)
    Q = float(w @ (y - w @ y / w.sum()) ** 2)
    between = max(0.0, (Q - K + 1) / (w.sum() - (w**2).sum() / w.sum()))
    w = 1 / (v + between)
    mean = float(w @ y / w.sum())
    error2 = float(w @ (y - mean) ** 2 / (K - 1) / w.sum())
    half = stdtrit(K - 1, TWO_SIDED) * math.sqrt(error2)
    ahead = stdtrit(K - 2, TWO_SIDED) * math.sqrt(between + error2)
    value, low, high, next_low, next_high = (math.exp(mean + x) for x in (0, -half, half, -ahead, ahead))
    return Pooled(value, low, high, next_low, next_high, max(0.0, 1 - (K - 1) / Q) if Q > 0 else 0.0)

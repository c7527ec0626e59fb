r"""Section 1, measured: are summed inputs distributed differently as a sequence gets longer?

Two steps at which a network reads the same row of an image differ in the past alone.
"""

import numpy as np
from jaxtyping import Float
from scipy.stats import ks_2samp
from torch import Tensor

from lnlib.rnn import RNN
from lnlib.rnn.diagnostics import trace

EARLY, LATE = 2, 50  # steps, counted from 1; both read the second row of an image of eight


def between(a: Float[Tensor, "N H"], b: Float[Tensor, "M H"]) -> float:
    r"""$\max_z\lvert F_a(z)-F_b(z)\rvert$ between the cases' distributions of each unit; mean over the units.

    *Source* the distance of Kolmogorov and Smirnov; ours to take it here. Two samples of 500 cases of one
    distribution are 0.05 apart on average.
    """
    return float(np.mean([ks_2samp(*pair).statistic for pair in zip(a.T.numpy(), b.T.numpy(), strict=True)]))


def change(rnn: RNN, x: Float[Tensor, "T N D"]) -> float:
    """`between` the summed inputs of two steps of a network that reads streams."""
    a = trace(rnn, x[:LATE]).summed_inputs
    return between(a[EARLY - 1], a[LATE - 1])

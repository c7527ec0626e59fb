"""What both cells do to a row of numbers: gates, and normalization with its derivative."""

from __future__ import annotations

import numpy as np
from numba import njit

from lnlib.rnn.kernels.compiling import INLINE

__all__ = ["exp", "normalize", "normalize_backward", "one", "sigmoid", "statistics", "tanh"]

one, two, half = np.float32(1), np.float32(2), np.float32(0.5)


@njit(**INLINE)
def _exp_parts(x):
    """2^n and e^r - 1, of x = n log 2 + r: e^x = 2^n (1 + (e^r - 1)), to 1 ulp; x within +-87."""
    n = np.floor(x * np.float32(1.44269504) + half)
    r = x - n * np.float32(0.693359375) + n * np.float32(2.12194440e-4)  # log 2 in two parts
    p = np.float32(1.9875691e-4) * r + np.float32(1.3981999e-3)
    p = p * r + np.float32(8.3334519e-3)
    p = p * r + np.float32(4.1665795e-2)
    p = p * r + np.float32(1.6666665e-1)
    p = p * r + half
    scale = np.int32((np.int32(n) + 127) << 23).view(np.float32)
    return scale, r + r * r * p


@njit(**INLINE)
def _within(x, bound):
    """x, cut at +-bound; NaN stays NaN."""
    x = bound if x > bound else x
    return -bound if x < -bound else x


@njit(**INLINE)
def exp(x):
    scale, p = _exp_parts(_within(x, np.float32(87)))
    return scale + scale * p


@njit(**INLINE)
def sigmoid(x):
    return one / (one + exp(-x))


@njit(**INLINE)
def tanh(x):
    """e / (e + 2) of e = e^2x - 1, exact to a few ulps near 0 too."""
    scale, p = _exp_parts(_within(two * x, np.float32(40)))
    e = scale * p + (scale - one)
    return e / (e + two)


@njit(**INLINE)
def statistics(a, center, eps):
    """Mean (0 unless centered) and 1/sqrt(variance + eps); the mean's own rounding is taken out of both."""
    n = np.float32(a.shape[0])
    mean = np.float32(0)
    if center:
        for j in range(a.shape[0]):
            mean += a[j]
        mean /= n
    left, squares = np.float32(0), np.float32(0)
    for j in range(a.shape[0]):
        d = a[j] - mean
        left += d
        squares += d * d
    if not center:
        return mean, one / np.sqrt(squares / n + eps)
    left /= n
    return mean + left, one / np.sqrt(max(squares / n - left * left, np.float32(0)) + eps)


@njit(**INLINE)
def normalize(a, out, center, eps):
    mean, scale = statistics(a, center, eps)
    for j in range(a.shape[0]):
        out[j] = (a[j] - mean) * scale
    return scale


@njit(**INLINE)
def normalize_backward(d, gain, normalized, scale, center, d_gain):
    """From d, of gain * normalized, the summed inputs' gradient, over normalized; adds to d_gain."""
    n = np.float32(d.shape[0])
    mean, along = np.float32(0), np.float32(0)
    for j in range(d.shape[0]):
        d_gain[j] += d[j] * normalized[j]
        g = d[j] * gain[j]
        mean += g
        along += g * normalized[j]
    mean, along = (mean / n if center else np.float32(0)), along / n
    for j in range(d.shape[0]):
        normalized[j] = scale * (d[j] * gain[j] - mean - normalized[j] * along)

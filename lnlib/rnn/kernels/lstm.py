"""The layer-normalized LSTM of Eqs. (20)-(22): one row, forward and backward."""

from __future__ import annotations

from numba import njit

from lnlib.rnn.kernels.compiling import INLINE
from lnlib.rnn.kernels.rows import normalize, normalize_backward, one, sigmoid, statistics, tanh

__all__ = ["quarters", "row_backward", "row_forward"]


@njit(**INLINE)
def quarters(row, size):
    return row[:size], row[size : 2 * size], row[2 * size : 3 * size], row[3 * size : 4 * size]


@njit(**INLINE)
def row_forward(x, r, kept, c, h, stats, scratch, p, center, eps):
    """Eqs. (20)-(22) from the summed inputs x and r: x and kept become normalized, c and h the next state."""
    gain_ih, gain_hh, bias, gain_cell, bias_cell = p
    size = c.shape[0]
    stats[0] = normalize(x, x, center, eps)
    stats[1] = normalize(r[: 4 * size], kept, center, eps)
    for j in range(4 * size):
        scratch[j] = gain_ih[j] * x[j] + gain_hh[j] * kept[j] + bias[j]
    i, f, g, o = quarters(scratch, size)
    for j in range(size):
        c[j] = sigmoid(f[j]) * c[j] + sigmoid(i[j]) * tanh(g[j])
    stats[3], stats[2] = statistics(c, center, eps)
    for j in range(size):
        h[j] = sigmoid(o[j]) * tanh(gain_cell[j] * ((c[j] - stats[3]) * stats[2]) + bias_cell[j])


@njit(**INLINE)
def row_backward(x, r, c, d_out, dh, dc, stats, scratch, p, dp, center):
    """The same backward: x and r become the summed inputs' gradients, dc that of the cell before, c."""
    gain_ih, gain_hh, bias, gain_cell, bias_cell = p
    d_gain_ih, d_gain_hh, d_bias, d_gain_cell, d_bias_cell = dp
    size = c.shape[0]
    gates = scratch[: 4 * size]
    i, f, g, o = quarters(scratch, size)
    cell, d_cell = scratch[4 * size : 5 * size], scratch[5 * size : 6 * size]
    for j in range(4 * size):
        gates[j] = gain_ih[j] * x[j] + gain_hh[j] * r[j] + bias[j]
    for j in range(size):
        i[j], f[j], g[j] = sigmoid(i[j]), sigmoid(f[j]), tanh(g[j])
        cell[j] = (f[j] * c[j] + i[j] * g[j] - stats[3]) * stats[2]
    for j in range(size):
        s, t = sigmoid(o[j]), tanh(gain_cell[j] * cell[j] + bias_cell[j])
        d = d_out[j] + dh[j]
        o[j] = d * t * s * (one - s)
        d_cell[j] = d * s * (one - t * t)
        d_bias_cell[j] += d_cell[j]
    normalize_backward(d_cell, gain_cell, cell, stats[2], center, d_gain_cell)
    for j in range(size):
        d = dc[j] + cell[j]
        dc[j] = d * f[j]
        si, sf = i[j], f[j]
        i[j] = d * g[j] * si * (one - si)
        f[j] = d * c[j] * sf * (one - sf)
        g[j] = d * si * (one - g[j] * g[j])
    for j in range(4 * size):
        d_bias[j] += gates[j]
    normalize_backward(gates, gain_ih, x, stats[0], center, d_gain_ih)
    normalize_backward(gates, gain_hh, r, stats[1], center, d_gain_hh)

"""The layer-normalized GRU of Eqs. (26)-(28): one row, forward and backward."""

from __future__ import annotations

from numba import njit

from lnlib.rnn.kernels.compiling import INLINE
from lnlib.rnn.kernels.rows import normalize, normalize_backward, one, sigmoid, tanh

__all__ = ["row_backward", "row_forward"]


@njit(**INLINE)
def row_forward(x, r, kept, h, stats, scratch, p, sign, center, eps):
    """Eqs. (26)-(28) from the summed inputs x and r; an open gate lets the candidate in; sign -1: keeps h."""
    gain_ih, gain_hh, bias, bias_candidate = p
    size = h.shape[0]
    both, third = 2 * size, 3 * size
    stats[0] = normalize(x[:both], x[:both], center, eps)
    stats[1] = normalize(r[:both], kept[:both], center, eps)
    stats[2] = normalize(x[both:third], x[both:third], center, eps)
    stats[3] = normalize(r[both:third], kept[both:third], center, eps)
    for j in range(both):
        scratch[j] = sigmoid(
            (gain_ih[j] * x[j] + gain_hh[j] * kept[j] + bias[j]) * (one if j < size else sign)
        )
    reset, update = scratch[:size], scratch[size:both]
    xn, rn, gx, gr, b = x[both:third], kept[both:third], gain_ih[both:], gain_hh[both:], bias[both:]
    for j in range(size):
        candidate = tanh(gx[j] * xn[j] + b[j] + reset[j] * (gr[j] * rn[j] + bias_candidate[j]))
        h[j] += update[j] * (candidate - h[j])


@njit(**INLINE)
def row_backward(x, r, h, d_out, dh, direct, stats, scratch, p, dp, sign, center):
    """The same backward; what reaches the previous state h past the gates is kept in direct."""
    gain_ih, gain_hh, bias, bias_candidate = p
    d_gain_ih, d_gain_hh, d_bias, d_bias_candidate = dp
    size = h.shape[0]
    both, third = 2 * size, 3 * size
    for j in range(both):
        scratch[j] = sigmoid((gain_ih[j] * x[j] + gain_hh[j] * r[j] + bias[j]) * (one if j < size else sign))
    gates, reset, update = scratch[:both], scratch[:size], scratch[size:both]
    dx, dr = scratch[both:third], scratch[third : 4 * size]
    xn, rn, gx, gr, b = x[both:third], r[both:third], gain_ih[both:], gain_hh[both:], bias[both:]
    for j in range(size):
        s, u = reset[j], update[j]
        state_side = gr[j] * rn[j] + bias_candidate[j]
        candidate = tanh(gx[j] * xn[j] + b[j] + s * state_side)
        d = d_out[j] + dh[j] + direct[j]
        direct[j] = d * (one - u)
        dx[j] = d * u * (one - candidate * candidate)
        dr[j] = dx[j] * s
        d_bias[both + j] += dx[j]
        d_bias_candidate[j] += dr[j]
        update[j] = sign * d * (candidate - h[j]) * u * (one - u)
        reset[j] = dx[j] * state_side * s * (one - s)
    for j in range(both):
        d_bias[j] += gates[j]
    normalize_backward(dx, gx, xn, stats[2], center, d_gain_ih[both:])
    normalize_backward(dr, gr, rn, stats[3], center, d_gain_hh[both:])
    normalize_backward(gates, gain_ih[:both], x[:both], stats[0], center, d_gain_ih[:both])
    normalize_backward(gates, gain_hh[:both], r[:both], stats[1], center, d_gain_hh[:both])

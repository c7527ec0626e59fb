"""The layer-normalized GRU of Eqs. (26)-(28): one row, one step, a whole sequence; forward and backward."""

from __future__ import annotations

from numba import njit, prange

from lnlib.rnn.kernels.compiling import INLINE, compiled
from lnlib.rnn.kernels.matmul import multiply, share
from lnlib.rnn.kernels.rows import normalize, normalize_backward, one, sigmoid, tanh

__all__ = ["backward", "forward"]


@njit(**INLINE)
def _row(x, r, kept, h, stats, scratch, p, sign, center, eps):
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
def _row_backward(x, r, h, d_out, dh, direct, stats, scratch, p, dp, sign, center):
    """The same backward; what reaches the previous state h past the gates is kept in direct."""
    gain_ih, gain_hh, bias, bias_candidate = p
    d_gain_ih, d_gain_hh, d_bias, d_bias_candidate = dp
    size = h.shape[0]
    both, third = 2 * size, 3 * size
    for j in range(both):
        scratch[j] = sigmoid((gain_ih[j] * x[j] + gain_hh[j] * r[j] + bias[j]) * (one if j < size else sign))
    gates, reset, update = scratch[:both], scratch[:size], scratch[size:both]
    dx, dr = scratch[both:third], scratch[third : 4 * size]
    xn, rn, gx, gr, b, db = (
        x[both:third],
        r[both:third],
        gain_ih[both:],
        gain_hh[both:],
        bias[both:],
        d_bias[both:],
    )
    for j in range(size):
        s, u = reset[j], update[j]
        state_side = gr[j] * rn[j] + bias_candidate[j]
        candidate = tanh(gx[j] * xn[j] + b[j] + s * state_side)
        d = d_out[j] + dh[j] + direct[j]
        direct[j] = d * (one - u)
        dx[j] = d * u * (one - candidate * candidate)
        dr[j] = dx[j] * s
        db[j] += dx[j]
        d_bias_candidate[j] += dr[j]
        update[j] = sign * d * (candidate - h[j]) * u * (one - u)
        reset[j] = dx[j] * state_side * s * (one - s)
    for j in range(both):
        d_bias[j] += gates[j]
    normalize_backward(dx, gx, xn, stats[2], center, d_gain_ih[both:])
    normalize_backward(dr, gr, rn, stats[3], center, d_gain_hh[both:])
    normalize_backward(gates, gain_ih[:both], x[:both], stats[0], center, d_gain_ih[:both])
    normalize_backward(gates, gain_hh[:both], r[:both], stats[1], center, d_gain_hh[:both])


@njit(**INLINE)
def _step(part, parts, n, start, save, room, saved, state, out, p, sign, center, eps):
    (r, scratch), (x, kept, before, stats), (h,) = room, saved, state
    for row in range(part, n, parts):
        here = start + row
        at = here if save else row
        if save:
            before[0, here] = h[row]
        _row(x[here], r[row], kept[at], h[row], stats[here], scratch[part], p, sign, center, eps)
        out[here] = h[row]


@njit(**INLINE)
def _step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, sign, center):
    (x, kept, before, stats), (dh, direct) = saved, d_state
    mine = (dp[0][part], dp[1][part], dp[2][part], dp[3][part])
    for row in range(part, n, parts):
        at = start + row
        h_side = before[0, at], d_out[at], dh[row], direct[row]
        _row_backward(x[at], kept[at], *h_side, stats[at], scratch[part], p, mine, sign, center)


def _forward(parts, together, sizes, starts, save, w, room, saved, state, out, p, sign, center, eps):
    """As the LSTM's, without c; p: gain_ih, gain_hh, bias, bias of the candidate's state side."""
    r, h = room[0], state[0]
    if together:
        for s in range(sizes.shape[0]):
            for part in prange(parts):
                multiply(h, 0, 1, sizes[s], w, share(r, part, parts), r)
            for part in prange(parts):
                _step(part, parts, sizes[s], starts[s], save, room, saved, state, out, p, sign, center, eps)
    else:
        for part in prange(parts):
            for s in range(sizes.shape[0]):
                multiply(h, part, parts, sizes[s], w, share(r, 0, 1), r)
                _step(part, parts, sizes[s], starts[s], save, room, saved, state, out, p, sign, center, eps)


def _backward(parts, together, sizes, starts, w, scratch, saved, d_out, d_state, p, dp, sign, center):
    """As the LSTM's; d_state: of h through the matrix, (N, padded H), plus past the gates, (N, H)."""
    kept, dh = saved[1], d_state[0]
    if together:
        for s in range(sizes.shape[0]):
            n, start = sizes[s], starts[s]
            for part in prange(parts):
                _step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, sign, center)
            for part in prange(parts):
                multiply(kept[start : start + n], 0, 1, n, w, share(dh, part, parts), dh)
    else:
        for part in prange(parts):
            for s in range(sizes.shape[0]):
                n, start = sizes[s], starts[s]
                _step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, sign, center)
                multiply(kept[start : start + n], part, parts, n, w, share(dh, 0, 1), dh)


# For one thread, and for many.
forward = compiled(_forward), compiled(_forward, parallel=True)
backward = compiled(_backward), compiled(_backward, parallel=True)

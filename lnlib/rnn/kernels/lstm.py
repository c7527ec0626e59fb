"""The layer-normalized LSTM of Eqs. (20)-(22): one row, one step, a whole sequence; forward and backward."""

from __future__ import annotations

from numba import njit, prange

from lnlib.rnn.kernels.compiling import INLINE, compiled
from lnlib.rnn.kernels.matmul import multiply, share
from lnlib.rnn.kernels.rows import normalize, normalize_backward, one, sigmoid, statistics, tanh

__all__ = ["backward", "forward", "quarters", "row_backward", "row_forward"]


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


@njit(**INLINE)
def _step(part, parts, n, start, save, room, saved, state, out, p, center, eps):
    (r, scratch), (x, kept, before, stats), (h, c) = room, saved, state
    for row in range(part, n, parts):
        here = start + row
        at = here if save else row
        if save:
            before[0, here], before[1, here] = h[row], c[row]
        row_forward(x[here], r[row], kept[at], c[row], h[row], stats[here], scratch[part], p, center, eps)
        out[here] = h[row]


@njit(**INLINE)
def _step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, center):
    (x, kept, before, stats), (dh, dc) = saved, d_state
    mine = (dp[0][part], dp[1][part], dp[2][part], dp[3][part], dp[4][part])
    for row in range(part, n, parts):
        at = start + row
        h_side = before[1, at], d_out[at], dh[row], dc[row]
        row_backward(x[at], kept[at], *h_side, stats[at], scratch[part], p, mine, center)


def _forward(parts, together, sizes, starts, save, w, room, saved, state, out, p, center, eps):
    """All steps of a chunk; state goes from the one before it to the one after it.

    Args:
        parts: threads; together: they share every step's product instead of the sequences.
        save: keep what the way back needs; else the state's projections and states are room for one step.
        w: the state's matrix, packed. p: gain_ih, gain_hh, bias, gain_cell, bias_cell.
        room: r, (N, padded 4H), and scratch, (parts, 6H).
        saved: the projected inputs x, (M, 4H), normalized in place; the same of the state; the state before,
            (2, M, H); and (M, 4) scalars: three scales and the cell's mean.
        state: h and c, (N, H). out: (M, H).
    """
    r, h = room[0], state[0]
    if together:
        for s in range(sizes.shape[0]):
            for part in prange(parts):
                multiply(h, 0, 1, sizes[s], w, share(r, part, parts), r)
            for part in prange(parts):
                _step(part, parts, sizes[s], starts[s], save, room, saved, state, out, p, center, eps)
    else:
        for part in prange(parts):
            for s in range(sizes.shape[0]):
                multiply(h, part, parts, sizes[s], w, share(r, 0, 1), r)
                _step(part, parts, sizes[s], starts[s], save, room, saved, state, out, p, center, eps)


def _backward(parts, together, sizes, starts, w, scratch, saved, d_out, d_state, p, dp, center):
    """All steps of a chunk, the last first; d_state goes from the state after it to the one before it.

    Args:
        w: the state's matrix, transposed and packed.
        saved: as the way forward left it; both projections' gradients replace their normalized values.
        d_out: (M, H). d_state: of h, (N, padded H), and of c, (N, H).
        dp: gradients of p, one row a thread, added to.
    """
    kept, dh = saved[1], d_state[0]
    if together:
        for s in range(sizes.shape[0]):
            n, start = sizes[s], starts[s]
            for part in prange(parts):
                _step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, center)
            for part in prange(parts):
                multiply(kept[start : start + n], 0, 1, n, w, share(dh, part, parts), dh)
    else:
        for part in prange(parts):
            for s in range(sizes.shape[0]):
                n, start = sizes[s], starts[s]
                _step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, center)
                multiply(kept[start : start + n], part, parts, n, w, share(dh, 0, 1), dh)


# For one thread, and for many.
forward = compiled(_forward), compiled(_forward, parallel=True)
backward = compiled(_backward), compiled(_backward, parallel=True)

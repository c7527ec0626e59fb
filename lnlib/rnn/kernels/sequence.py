"""A whole sequence of a layer-normalized LSTM or GRU, forward and backward: the loop over its steps.

An LSTM has two states, h and c, and five parameters beside its matrices; a GRU has one and four. By these
lengths numba compiles one cell or the other.
"""

from __future__ import annotations

from numba import njit, prange

from lnlib.rnn.kernels import gru, lstm
from lnlib.rnn.kernels.compiling import INLINE, compiled
from lnlib.rnn.kernels.matmul import multiply, share

__all__ = ["backward", "forward"]

lstm_row, lstm_row_backward = lstm.row_forward, lstm.row_backward
gru_row, gru_row_backward = gru.row_forward, gru.row_backward


@njit(**INLINE)
def _step(part, parts, n, start, save, room, saved, state, out, p, options):
    (r, scratch), (x, kept, before, stats), h = room, saved, state[0]
    sign, center, eps = options
    for row in range(part, n, parts):
        here = start + row
        at = here if save else row
        if save:
            for k in range(len(state)):
                before[k, here] = state[k][row]
        if len(state) == 2:
            sides = x[here], r[row], kept[at], state[1][row], h[row]
            lstm_row(*sides, stats[here], scratch[part], p, center, eps)
        else:
            sides = x[here], r[row], kept[at], h[row]
            gru_row(*sides, stats[here], scratch[part], p, sign, center, eps)
        out[here] = h[row]


@njit(**INLINE)
def _step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, options):
    (x, kept, before, stats), (dh, other) = saved, d_state
    sign, center, _ = options
    for row in range(part, n, parts):
        at = start + row
        sides = x[at], kept[at], before[-1, at], d_out[at], dh[row], other[row]
        if len(p) == 5:
            mine = dp[0][part], dp[1][part], dp[2][part], dp[3][part], dp[4][part]
            lstm_row_backward(*sides, stats[at], scratch[part], p, mine, center)
        else:
            mine = dp[0][part], dp[1][part], dp[2][part], dp[3][part]
            gru_row_backward(*sides, stats[at], scratch[part], p, mine, sign, center)


def _forward(parts, together, sizes, starts, save, w, room, saved, state, out, p, options):
    """All steps of a chunk; state goes from the one before it to the one after it.

    Args:
        parts: threads; together: they share every step's product instead of the sequences.
        save: keep what the way back needs; else the state's projections and states are room for one step.
        w: the state's matrix, packed.
        room: r, (N, padded G), and scratch, (parts, 6H).
        saved: the projected inputs x, (M, G), normalized in place; the same of the state; the states before,
            (1 or 2, M, H); and (M, 4) scalars: scales, and an LSTM's mean of the cell.
        state: h, and an LSTM's c, (N, H). out: (M, H).
        p: an LSTM's gain_ih, gain_hh, bias, gain_cell, bias_cell; a GRU's gain_ih, gain_hh, bias, and the
            bias of the candidate's state side.
        options: 1, or -1 where an open gate keeps a GRU's state; whether to subtract the mean; eps.
    """
    r, h = room[0], state[0]
    if together:
        for s in range(sizes.shape[0]):
            for part in prange(parts):
                multiply(h, 0, 1, sizes[s], w, share(r, part, parts), r)
            for part in prange(parts):
                _step(part, parts, sizes[s], starts[s], save, room, saved, state, out, p, options)
    else:
        for part in prange(parts):
            for s in range(sizes.shape[0]):
                multiply(h, part, parts, sizes[s], w, share(r, 0, 1), r)
                _step(part, parts, sizes[s], starts[s], save, room, saved, state, out, p, options)


def _backward(parts, together, sizes, starts, w, scratch, saved, d_out, d_state, p, dp, options):
    """All steps of a chunk, the last first; d_state goes from the state after it to the one before it.

    Args:
        w: the state's matrix, transposed and packed.
        saved: as the way forward left it; both projections' gradients replace their normalized values.
        d_out: (M, H).
        d_state: of h through the matrix, (N, padded H); of an LSTM's c, or a GRU's h past the gates, (N, H).
        dp: gradients of p, one row a thread, added to.
    """
    kept, dh = saved[1], d_state[0]
    if together:
        for s in range(sizes.shape[0]):
            n, start = sizes[s], starts[s]
            for part in prange(parts):
                _step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, options)
            for part in prange(parts):
                multiply(kept[start : start + n], 0, 1, n, w, share(dh, part, parts), dh)
    else:
        for part in prange(parts):
            for s in range(sizes.shape[0]):
                n, start = sizes[s], starts[s]
                _step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, options)
                multiply(kept[start : start + n], part, parts, n, w, share(dh, 0, 1), dh)


# For one thread, and for many.
forward = compiled(_forward), compiled(_forward, parallel=True)
backward = compiled(_backward), compiled(_backward, parallel=True)

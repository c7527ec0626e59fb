r"""A whole sequence of a layer-normalized LSTM or GRU in one compiled loop, forward and backward: numba, float32.

Every array is contiguous. Sequences stand in the order of their lengths, so that at step t the first sizes[t] of N
run; their rows of the packed arrays begin at offsets[t]. Each thread takes every so-many-th sequence and runs all
steps of it without waiting for the others (`_alone`). When the matrix of the state is larger than the caches, it is
better read once a step for all: then the threads share its columns, and meet twice a step (`_together`).

Forward, a step: R = h W in a small product; per row the statistics of A (the projected input) and of R, their
normalized values, gates, cell, output. Kept for the way back: both normalized projections, the previous state, and
four scalars a row; no gates, they cost less to compute again than to store. Backward, the same in reverse, with
the gradients of the two projections written over their normalized values: the products for the weights' gradients
are left to one large product over all steps.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
from numba import njit, prange

from lnlib.rnn.matmul import OPTIONS, WIDTH, multiply

__all__ = ["gru_backward", "gru_forward", "lstm_backward", "lstm_forward"]

one, two, half = np.float32(1), np.float32(2), np.float32(0.5)


# --- functions of one number ---------------------------------------------------------------------------------


@njit(inline="always", **OPTIONS)
def _exp_parts(x):  # type: ignore[no-untyped-def]
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


@njit(inline="always", **OPTIONS)
def _within(x, bound):  # type: ignore[no-untyped-def]
    """x, cut at +-bound; NaN stays NaN."""
    x = bound if x > bound else x
    return -bound if x < -bound else x


@njit(inline="always", **OPTIONS)
def _sigmoid(x):  # type: ignore[no-untyped-def]
    scale, p = _exp_parts(_within(-x, np.float32(87)))
    return one / (one + (scale + scale * p))


@njit(inline="always", **OPTIONS)
def _tanh(x):  # type: ignore[no-untyped-def]
    """e / (e + 2) of e = e^2x - 1, exact to a few ulps near 0 too."""
    scale, p = _exp_parts(_within(two * x, np.float32(40)))
    e = scale * p + (scale - one)
    return e / (e + two)


# --- one row: the summed inputs of one sequence at one step --------------------------------------------------


@njit(**OPTIONS)
def _statistics(a, center, eps):  # type: ignore[no-untyped-def]
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


@njit(**OPTIONS)
def _normalize(a, out, center, eps):  # type: ignore[no-untyped-def]
    mean, scale = _statistics(a, center, eps)
    for j in range(a.shape[0]):
        out[j] = (a[j] - mean) * scale
    return scale


@njit(**OPTIONS)
def _normalize_backward(d, gain, normalized, scale, center, d_gain):  # type: ignore[no-untyped-def]
    """From d, of gain * normalized: the gradient of the summed inputs, over the normalized values; adds to d_gain."""
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


@njit(**OPTIONS)
def _lstm_row(x, r, kept, c, h, stats, scratch, p, center, eps):  # type: ignore[no-untyped-def]
    """Eqs. (20)-(22) from the summed inputs x and r: x and kept become normalized, c and h the next state."""
    gain_ih, gain_hh, bias, gain_cell, bias_cell = p
    size = c.shape[0]
    stats[0] = _normalize(x, x, center, eps)
    stats[1] = _normalize(r[: 4 * size], kept, center, eps)
    for j in range(4 * size):
        scratch[j] = gain_ih[j] * x[j] + gain_hh[j] * kept[j] + bias[j]
    i, f, g, o = scratch[:size], scratch[size : 2 * size], scratch[2 * size : 3 * size], scratch[3 * size : 4 * size]
    for j in range(size):
        c[j] = _sigmoid(f[j]) * c[j] + _sigmoid(i[j]) * _tanh(g[j])
    stats[2], stats[3] = _statistics(c, center, eps)
    for j in range(size):
        h[j] = _sigmoid(o[j]) * _tanh(gain_cell[j] * ((c[j] - stats[2]) * stats[3]) + bias_cell[j])


@njit(**OPTIONS)
def _lstm_row_backward(x, r, c, d_out, dh, dc, stats, scratch, p, dp, center):  # type: ignore[no-untyped-def]
    """The same backward: x and r, normalized, become the summed inputs' gradients; dc that of the previous cell c."""
    gain_ih, gain_hh, bias, gain_cell, bias_cell = p
    d_gain_ih, d_gain_hh, d_bias, d_gain_cell, d_bias_cell = dp
    size = c.shape[0]
    gates = scratch[: 4 * size]
    i, f, g, o = scratch[:size], scratch[size : 2 * size], scratch[2 * size : 3 * size], scratch[3 * size : 4 * size]
    cell, d_cell = scratch[4 * size : 5 * size], scratch[5 * size : 6 * size]
    for j in range(4 * size):
        gates[j] = gain_ih[j] * x[j] + gain_hh[j] * r[j] + bias[j]
    for j in range(size):
        i[j], f[j], g[j] = _sigmoid(i[j]), _sigmoid(f[j]), _tanh(g[j])
        cell[j] = (f[j] * c[j] + i[j] * g[j] - stats[2]) * stats[3]
    for j in range(size):
        s, t = _sigmoid(o[j]), _tanh(gain_cell[j] * cell[j] + bias_cell[j])
        d = d_out[j] + dh[j]
        o[j] = d * t * s * (one - s)
        d_cell[j] = d * s * (one - t * t)
        d_bias_cell[j] += d_cell[j]
    _normalize_backward(d_cell, gain_cell, cell, stats[3], center, d_gain_cell)
    for j in range(size):
        d = dc[j] + cell[j]
        dc[j] = d * f[j]
        si, sf = i[j], f[j]
        i[j] = d * g[j] * si * (one - si)
        f[j] = d * c[j] * sf * (one - sf)
        g[j] = d * si * (one - g[j] * g[j])
    for j in range(4 * size):
        d_bias[j] += gates[j]
    _normalize_backward(gates, gain_ih, x, stats[0], center, d_gain_ih)
    _normalize_backward(gates, gain_hh, r, stats[1], center, d_gain_hh)


@njit(**OPTIONS)
def _gru_row(x, r, kept, h, stats, scratch, p, sign, center, eps):  # type: ignore[no-untyped-def]
    """Eqs. (26)-(28) from the summed inputs x and r. The gate lets the candidate in (sign 1) or keeps h (sign -1)."""
    gain_ih, gain_hh, bias, bias_candidate = p
    size = h.shape[0]
    both, third = 2 * size, 3 * size
    stats[0] = _normalize(x[:both], x[:both], center, eps)
    stats[1] = _normalize(r[:both], kept[:both], center, eps)
    stats[2] = _normalize(x[both:third], x[both:third], center, eps)
    stats[3] = _normalize(r[both:third], kept[both:third], center, eps)
    for j in range(both):
        scratch[j] = _sigmoid((gain_ih[j] * x[j] + gain_hh[j] * kept[j] + bias[j]) * (one if j < size else sign))
    reset, update = scratch[:size], scratch[size:both]
    xn, rn, gx, gr, b = x[both:third], kept[both:third], gain_ih[both:], gain_hh[both:], bias[both:]
    for j in range(size):
        candidate = _tanh(gx[j] * xn[j] + b[j] + reset[j] * (gr[j] * rn[j] + bias_candidate[j]))
        h[j] += update[j] * (candidate - h[j])


@njit(**OPTIONS)
def _gru_row_backward(x, r, h, d_out, dh, direct, stats, scratch, p, dp, sign, center):  # type: ignore[no-untyped-def]
    """The same backward; what reaches the previous state h past the gates is kept in direct."""
    gain_ih, gain_hh, bias, bias_candidate = p
    d_gain_ih, d_gain_hh, d_bias, d_bias_candidate = dp
    size = h.shape[0]
    both, third = 2 * size, 3 * size
    for j in range(both):
        scratch[j] = _sigmoid((gain_ih[j] * x[j] + gain_hh[j] * r[j] + bias[j]) * (one if j < size else sign))
    gates, reset, update = scratch[:both], scratch[:size], scratch[size:both]
    dx, dr = scratch[both:third], scratch[third : 4 * size]
    xn, rn, gx, gr, b, db = x[both:third], r[both:third], gain_ih[both:], gain_hh[both:], bias[both:], d_bias[both:]
    for j in range(size):
        s, u = reset[j], update[j]
        state_side = gr[j] * rn[j] + bias_candidate[j]
        candidate = _tanh(gx[j] * xn[j] + b[j] + s * state_side)
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
    _normalize_backward(dx, gx, xn, stats[2], center, d_gain_ih[both:])
    _normalize_backward(dr, gr, rn, stats[3], center, d_gain_hh[both:])
    _normalize_backward(gates, gain_ih[:both], x[:both], stats[0], center, d_gain_ih[:both])
    _normalize_backward(gates, gain_hh[:both], r[:both], stats[1], center, d_gain_hh[:both])


# --- all steps -----------------------------------------------------------------------------------------------
# sizes[s] sequences run at the s-th step taken, whose rows of the packed arrays begin at starts[s].


@njit(**OPTIONS)
def _lstm_step(part, parts, n, start, save, room, saved, state, out, p, center, eps):  # type: ignore[no-untyped-def]
    (r, scratch), (x, kept, before, stats), (h, c) = room, saved, state
    for row in range(part, n, parts):
        here = start + row
        at = here if save else row
        if save:
            before[0, here], before[1, here] = h[row], c[row]
        _lstm_row(x[here], r[row], kept[at], c[row], h[row], stats[at], scratch[part], p, center, eps)
        out[here] = h[row]


@njit(**OPTIONS)
def _gru_step(part, parts, n, start, save, room, saved, state, out, p, sign, center, eps):  # type: ignore[no-untyped-def]
    (r, scratch), (x, kept, before, stats), (h,) = room, saved, state
    for row in range(part, n, parts):
        here = start + row
        at = here if save else row
        if save:
            before[0, here] = h[row]
        _gru_row(x[here], r[row], kept[at], h[row], stats[at], scratch[part], p, sign, center, eps)
        out[here] = h[row]


@njit(**OPTIONS)
def _lstm_step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, center):  # type: ignore[no-untyped-def]
    (x, kept, before, stats), (dh, dc) = saved, d_state
    mine = (dp[0][part], dp[1][part], dp[2][part], dp[3][part], dp[4][part])
    for row in range(part, n, parts):
        at = start + row
        _lstm_row_backward(
            x[at], kept[at], before[1, at], d_out[at], dh[row], dc[row], stats[at], scratch[part], p, mine, center
        )


@njit(**OPTIONS)
def _gru_step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, sign, center):  # type: ignore[no-untyped-def]
    (x, kept, before, stats), (dh, direct) = saved, d_state
    mine = (dp[0][part], dp[1][part], dp[2][part], dp[3][part])
    for row in range(part, n, parts):
        at = start + row
        _gru_row_backward(
            x[at], kept[at], before[0, at], d_out[at], dh[row], direct[row], stats[at], scratch[part], p, mine, sign, center
        )


@njit(**OPTIONS)
def _share(c, part, parts):  # type: ignore[no-untyped-def]
    """The panels of one thread, when the threads share the columns of c."""
    panels = c.shape[1] // WIDTH
    return panels * part // parts, panels * (part + 1) // parts


def _lstm_forward(parts, together, sizes, starts, save, w, room, saved, state, out, p, center, eps):  # type: ignore[no-untyped-def]
    """All steps of a chunk; state goes from the one before it to the one after it.

    Args:
        parts: threads; together: they share every step's product instead of the sequences.
        save: keep what the way back needs; else saved but for x is room for one step.
        w: the state's matrix, packed. p: gain_ih, gain_hh, bias, gain_cell, bias_cell.
        room: r, (N, padded 4H), and scratch, (parts, 6H).
        saved: the projected inputs x, (M, 4H), normalized in place; the same of the state; the state before, (2, M, H);
            and four scalars a row, (M, 4).
        state: h and c, (N, H). out: (M, H).
    """
    r, h = room[0], state[0]
    if together:
        for s in range(sizes.shape[0]):
            for part in prange(parts):
                multiply(h, 0, 1, sizes[s], w, _share(r, part, parts), r)
            for part in prange(parts):
                _lstm_step(part, parts, sizes[s], starts[s], save, room, saved, state, out, p, center, eps)
    else:
        for part in prange(parts):
            for s in range(sizes.shape[0]):
                multiply(h, part, parts, sizes[s], w, _share(r, 0, 1), r)
                _lstm_step(part, parts, sizes[s], starts[s], save, room, saved, state, out, p, center, eps)


def _lstm_backward(parts, together, sizes, starts, w, scratch, saved, d_out, d_state, p, dp, center):  # type: ignore[no-untyped-def]
    """All steps of a chunk, in the order of the way back; d_state goes from the state after it to the one before it.

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
                _lstm_step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, center)
            for part in prange(parts):
                multiply(kept[start : start + n], 0, 1, n, w, _share(dh, part, parts), dh)
    else:
        for part in prange(parts):
            for s in range(sizes.shape[0]):
                n, start = sizes[s], starts[s]
                _lstm_step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, center)
                multiply(kept[start : start + n], part, parts, n, w, _share(dh, 0, 1), dh)


def _gru_forward(parts, together, sizes, starts, save, w, room, saved, state, out, p, sign, center, eps):  # type: ignore[no-untyped-def]
    """As the LSTM's, with three gates, the state h alone, and p: gain_ih, gain_hh, bias, bias of the candidate's state."""
    r, h = room[0], state[0]
    if together:
        for s in range(sizes.shape[0]):
            for part in prange(parts):
                multiply(h, 0, 1, sizes[s], w, _share(r, part, parts), r)
            for part in prange(parts):
                _gru_step(part, parts, sizes[s], starts[s], save, room, saved, state, out, p, sign, center, eps)
    else:
        for part in prange(parts):
            for s in range(sizes.shape[0]):
                multiply(h, part, parts, sizes[s], w, _share(r, 0, 1), r)
                _gru_step(part, parts, sizes[s], starts[s], save, room, saved, state, out, p, sign, center, eps)


def _gru_backward(parts, together, sizes, starts, w, scratch, saved, d_out, d_state, p, dp, sign, center):  # type: ignore[no-untyped-def]
    """As the LSTM's; d_state: of h through the matrix, (N, padded H), and past the gates, (N, H): their sum counts."""
    kept, dh = saved[1], d_state[0]
    if together:
        for s in range(sizes.shape[0]):
            n, start = sizes[s], starts[s]
            for part in prange(parts):
                _gru_step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, sign, center)
            for part in prange(parts):
                multiply(kept[start : start + n], 0, 1, n, w, _share(dh, part, parts), dh)
    else:
        for part in prange(parts):
            for s in range(sizes.shape[0]):
                n, start = sizes[s], starts[s]
                _gru_step_backward(part, parts, n, start, scratch, saved, d_out, d_state, p, dp, sign, center)
                multiply(kept[start : start + n], part, parts, n, w, _share(dh, 0, 1), dh)


def _compiled(loop: FunctionType) -> tuple[Any, Any]:
    """The loop for one thread, which never enters the thread pool, and for many. On disk each has its own name."""
    other = FunctionType(loop.__code__, loop.__globals__, f"{loop.__name__}_parallel")
    other.__qualname__ = other.__name__
    return njit(cache=True, **OPTIONS)(loop), njit(cache=True, parallel=True, **OPTIONS)(other)


lstm_forward, lstm_backward, gru_forward, gru_backward = (
    _compiled(loop) for loop in (_lstm_forward, _lstm_backward, _gru_forward, _gru_backward)
)

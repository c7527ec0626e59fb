"""An LSTM that reads a text through Graves' window, a whole sequence in one compiled loop: numba, float32.

A step needs the window of the step before, which needs its h: no step can be computed ahead. Per step,
forward: products with h and with the window; the LSTM's row, with layer norm or without; a product that
gives the window's parameters; the window. Backward, the same in reverse; gradients of the summed inputs
replace what the way forward kept, and wait there for one large product each.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lnlib.rnn.kernels.compiling import INLINE, compiled
from lnlib.rnn.kernels.lstm import quarters
from lnlib.rnn.kernels.lstm import row_backward as normalized_row_backward
from lnlib.rnn.kernels.lstm import row_forward as normalized_row
from lnlib.rnn.kernels.matmul import multiply, share
from lnlib.rnn.kernels.rows import exp, one, sigmoid, tanh

two = np.float32(2)


@njit(**INLINE)
def _row(a, r, c, h):
    """Eqs. (17)-(19): a becomes the gates' summed inputs, c and h the next state."""
    size = c.shape[0]
    for j in range(4 * size):
        a[j] += r[j]
    i, f, g, o = quarters(a, size)
    for j in range(size):
        c[j] = sigmoid(f[j]) * c[j] + sigmoid(i[j]) * tanh(g[j])
        h[j] = sigmoid(o[j]) * tanh(c[j])


@njit(**INLINE)
def _row_backward(a, c, d_out, dh, dc):
    """The same backward: a becomes the gradient of the gates' inputs, dc that of the cell before, c."""
    size = c.shape[0]
    i, f, g, o = quarters(a, size)
    for j in range(size):
        si, sf, so, tg = sigmoid(i[j]), sigmoid(f[j]), sigmoid(o[j]), tanh(g[j])
        t = tanh(sf * c[j] + si * tg)
        d = d_out[j] + dh[j]
        o[j] = d * t * so * (one - so)
        d = dc[j] + d * so * (one - t * t)
        dc[j] = d * sf
        i[j] = d * tg * si * (one - si)
        f[j] = d * c[j] * sf * (one - sf)
        g[j] = d * si * (one - tg * tg)


@njit(**INLINE)
def _window(q, text, length, p, kappa, near, phi, w):
    """From the parameters' logarithms q: p, their exponentials; positions kappa moved on; the window w."""
    K = kappa.shape[0]
    for k in range(3 * K):
        p[k] = exp(q[k])
    phi[:], w[:] = np.float32(0), np.float32(0)
    for k in range(K):
        kappa[k] += p[2 * K + k]
        alpha, beta, center = p[k], p[K + k], kappa[k]
        for u in range(length):
            d = center - np.float32(u)
            near[k, u] = exp(-beta * d * d)
            phi[u] += alpha * near[k, u]
    for u in range(length):
        w[text[u]] += phi[u]


@njit(**INLINE)
def _window_backward(p, text, length, kappa, near, phi, dw, d_kappa):
    """The same backward: p becomes its logarithms' gradient, d_kappa that of the positions before.

    phi, done with, is room for the gradient of phi.
    """
    K = d_kappa.shape[0]
    for u in range(length):
        phi[u] = dw[text[u]]
    for k in range(K):
        alpha, beta = p[k], p[K + k]
        along, first, second = np.float32(0), np.float32(0), np.float32(0)
        for u in range(length):
            d = kappa[k] - np.float32(u)
            share_of = near[k, u] * phi[u]
            along += share_of
            first += share_of * d
            second += share_of * d * d
        d_kappa[k] -= two * alpha * beta * first
        p[k], p[K + k] = alpha * along, -alpha * beta * second
        p[2 * K + k] *= d_kappa[k]


@compiled
def forward(normed, texts, lengths, packed, room, saved, state, out, norm, bias, eps):
    """All steps; state goes from the one before them to the one after.

    Args:
        normed: with layer norm.
        texts, lengths: characters (N, U), and how many there are in each row.
        packed: the matrices of h, of the window w and of the window's parameters.
        room: products with the three, (N, padded), and scratch, 6H.
        saved: a, the projected points (T, N, 4H), which become the gates' summed inputs, or are normalized;
            the same of the state, normalized (without a norm: no rows); scalars (T, N, 4); h, c and w before;
            the window's parameters (T, N, 3K), positions (T, N, K) and Gaussians (T, N, K, U).
        state: h, c, w, kappa. out: h, w and phi at each step.
        norm: gain_ih, gain_hh, bias, gain_cell, bias_cell. bias: of the window's parameters.
    """
    (r, s, q, scratch), (a, kept, stats, h_before, c_before, w_before, p, kappas, near) = room, saved
    h, c, w, kappa = state
    N, size, columns = h.shape[0], h.shape[1], w.shape[1]
    for t in range(a.shape[0]):
        multiply(h, 0, 1, N, packed[0], share(r, 0, 1), r)
        multiply(w, 0, 1, N, packed[1], share(s, 0, 1), s)
        for n in range(N):
            h_before[t, n], c_before[t, n], w_before[t, n] = h[n], c[n], w[n]
            x = a[t, n]
            for j in range(4 * size):
                x[j] += s[n, j]
            if normed:
                normalized_row(x, r[n], kept[t, n], c[n], h[n], stats[t, n], scratch, norm, True, eps)
            else:
                _row(x, r[n], c[n], h[n])
            out[0][t, n] = h[n]
        multiply(h, 0, 1, N, packed[2], share(q, 0, 1), q)
        for n in range(N):
            for k in range(bias.shape[0]):
                q[n, k] += bias[k]
            _window(q[n], texts[n], lengths[n], p[t, n], kappa[n], near[t, n], out[2][t, n], w[n])
            kappas[t, n], out[1][t, n, :columns] = kappa[n], w[n]


@compiled
def backward(normed, texts, lengths, packed, room, saved, phi, d_out, norm, d_norm):
    """All steps, the last first. `saved` and `phi` are overwritten.

    Args:
        packed: the three matrices, transposed.
        room: gradients of h (N, padded H), of c (N, H), of w (N, padded A), of kappa (N, K), all 0 to begin
            with; what reaches h from the window; of one w; and scratch.
        saved: as the way forward left it. The gradients of the summed inputs replace a and, normalized, those
            of the state's side; those of the window's parameters p.
        d_out: of h, changed, and of w, at each step.
        d_norm: gradients of norm, added to.
    """
    dh, dc, dw, d_kappa, h_side, one_w, scratch = room
    a, kept, stats, _, c_before, _, p, kappas, near = saved
    N, size = dc.shape
    for t in range(a.shape[0] - 1, -1, -1):
        for n in range(N):
            for j in range(one_w.shape[0]):
                one_w[j] = d_out[1][t, n, j] + dw[n, j]
            _window_backward(
                p[t, n], texts[n], lengths[n], kappas[t, n], near[t, n], phi[t, n], one_w, d_kappa[n]
            )
        multiply(p[t], 0, 1, N, packed[2], share(h_side, 0, 1), h_side)
        for n in range(N):
            d = d_out[0][t, n]
            for j in range(size):
                d[j] += h_side[n, j]
            x = a[t, n]
            if normed:
                r, scalars = kept[t, n], stats[t, n]
                normalized_row_backward(
                    x, r, c_before[t, n], d, dh[n], dc[n], scalars, scratch, norm, d_norm, True
                )
            else:
                _row_backward(x, c_before[t, n], d, dh[n], dc[n])
        multiply(kept[t] if normed else a[t], 0, 1, N, packed[0], share(dh, 0, 1), dh)
        multiply(a[t], 0, 1, N, packed[1], share(dw, 0, 1), dw)

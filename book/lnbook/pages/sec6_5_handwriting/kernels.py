"""An LSTM that reads a text through Graves' window, a whole sequence in one compiled loop: numba, float32.

A step needs the window of the step before, which needs its h: no step can be computed ahead. Per step,
forward: products with h and with the window; the LSTM's row, with layer norm or without; a product that
gives the window's parameters; the window. Backward, the same in reverse; gradients of the summed inputs
replace what the way forward kept, and wait there for one large product each.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor
from torch.autograd.function import once_differentiable

from lnlib.matmul import product
from lnlib.rnn.kernels.compiling import INLINE, compiled
from lnlib.rnn.kernels.lstm import quarters
from lnlib.rnn.kernels.lstm import row_backward as normalized_row_backward
from lnlib.rnn.kernels.lstm import row_forward as normalized_row
from lnlib.rnn.kernels.matmul import multiply, pack, padded, share
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
def _window_backward(p, text, length, kappa, near, dw, d_kappa):
    """The same backward: p becomes its logarithms' gradient, d_kappa that of the positions before."""
    K = d_kappa.shape[0]
    for k in range(K):
        alpha, beta = p[k], p[K + k]
        along, first, second = np.float32(0), np.float32(0), np.float32(0)
        for u in range(length):
            d = kappa[k] - np.float32(u)
            share_of = near[k, u] * dw[text[u]]
            along += share_of
            first += share_of * d
            second += share_of * d * d
        d_kappa[k] -= two * alpha * beta * first
        p[k], p[K + k] = alpha * along, -alpha * beta * second
        p[2 * K + k] *= d_kappa[k]


@compiled
def forward(texts, lengths, packed, room, saved, state, out, norm, bias, eps):
    """All steps; `state` (h, c, w, kappa) goes from the one before them to the one after.

    `packed` are matrices: of h, of w, of the window's parameters; `room` products with them, and scratch;
    `saved` the projected points (T, N, 4H), which become the gates' summed inputs, or are normalized; the
    state's, normalized (without a norm: no rows); scalars; h, c, w before; the window's parameters, positions
    and Gaussians; `out` h, w and phi; `norm` gain_ih, gain_hh, bias, gain_cell, bias_cell.
    """
    (r, s, q, scratch), (a, kept, stats, h_before, c_before, w_before, p, kappas, near) = room, saved
    h, c, w, kappa = state
    N, size = h.shape
    for t in range(a.shape[0]):
        multiply(h, 0, 1, N, packed[0], share(r, 0, 1), r)
        multiply(w, 0, 1, N, packed[1], share(s, 0, 1), s)
        for n in range(N):
            h_before[t, n], c_before[t, n], w_before[t, n] = h[n], c[n], w[n]
            x = a[t, n]
            for j in range(4 * size):
                x[j] += s[n, j]
            if len(kept):
                normalized_row(x, r[n], kept[t, n], c[n], h[n], stats[t, n], scratch, norm, True, eps)
            else:
                _row(x, r[n], c[n], h[n])
            out[0][t, n] = h[n]
        multiply(h, 0, 1, N, packed[2], share(q, 0, 1), q)
        for n in range(N):
            for k in range(bias.shape[0]):
                q[n, k] += bias[k]
            _window(q[n], texts[n], lengths[n], p[t, n], kappa[n], near[t, n], out[2][t, n], w[n])
            kappas[t, n], out[1][t, n] = kappa[n], w[n]


@compiled
def backward(texts, lengths, packed, room, saved, d_out, norm, d_norm):
    """All steps, the last first: gradients replace the summed inputs in `saved`, and add to `d_norm`.

    `packed` are the three matrices, transposed, `d_out` gradients of h, which changes, and of w, `room` those
    of h, c, w and kappa, 0 to begin with, what reaches h from the window, and scratch.
    """
    dh, dc, dw, d_kappa, h_side, scratch = room
    a, kept, stats, _, c_before, w_before, p, kappas, near = saved
    N, size = dc.shape
    for t in range(a.shape[0] - 1, -1, -1):
        for n in range(N):
            for j in range(w_before.shape[2]):
                dw[n, j] += d_out[1][t, n, j]
            _window_backward(p[t, n], texts[n], lengths[n], kappas[t, n], near[t, n], dw[n], d_kappa[n])
        multiply(p[t], 0, 1, N, packed[2], share(h_side, 0, 1), h_side)
        for n in range(N):
            x, c, d = a[t, n], c_before[t, n], d_out[0][t, n]
            for j in range(size):
                d[j] += h_side[n, j]
            if len(kept):
                r, scalars = kept[t, n], stats[t, n]
                normalized_row_backward(x, r, c, d, dh[n], dc[n], scalars, scratch, norm, d_norm, True)
            else:
                _row_backward(x, c, d, dh[n], dc[n])
        multiply(kept[t] if len(kept) else a[t], 0, 1, N, packed[0], share(dh, 0, 1), dh)
        multiply(a[t], 0, 1, N, packed[1], share(dw, 0, 1), dw)


class Loop(torch.autograd.Function):
    """Both loops under autograd: h, w and phi at each step, and the last state.

    `tensors` are the state before; the weights of points and window, of h, and of the window's parameters,
    with their bias; and `norm`, without a norm the LSTM's bias alone.
    """

    @staticmethod
    def forward(
        ctx: Any, eps: float, x: Tensor, texts: Tensor, lengths: Tensor, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        W_x, W_h, W_q, b_q, *norm = (t.detach() for t in tensors[4:])
        normed = len(norm) > 1
        (T, N, D), H, U = x.shape, W_h.shape[1], texts.shape[1]
        A, K = (t.shape[1] for t in tensors[2:4])
        a = product(x.flatten(0, 1), W_x[:, :D].mT.contiguous())
        a = (a if normed else a + norm[0]).view(T, N, 4 * H)
        kept = [(T if normed else 0, N, size) for size in (4 * H, 4)]
        saved = (a.numpy(), *_zeros(*kept, *((T, N, size) for size in (H, H, A, 3 * K, K)), (T, N, K, U)))
        state = [s.detach().clone(memory_format=torch.contiguous_format) for s in tensors[:4]]
        out = [torch.empty(T, N, size, dtype=torch.float32) for size in (H, A, U)]
        ctx.texts = _arrays([texts, lengths])
        forward(
            *ctx.texts,
            tuple(map(pack, _arrays([W_h.mT, W_x[:, D:].mT, W_q.mT]))),
            _zeros((N, padded(4 * H)), (N, padded(4 * H)), (N, padded(3 * K)), (6 * H,)),
            saved,
            _arrays(state),
            _arrays(out),
            _arrays(norm if normed else 5 * norm),
            *_arrays([b_q]),
            np.float32(eps),
        )
        ctx.mark_non_differentiable(out[2], *state)
        ctx.saved = saved
        ctx.save_for_backward(x, out[0], *tensors[4:])
        return (*out, *state)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_h: Tensor, d_w: Tensor, *others: Tensor) -> tuple[Tensor | None, ...]:
        x, h, W_x, W_h, W_q, _, *norm = ctx.saved_tensors
        normed = len(norm) > 1
        (_, N, D), H, A, K = x.shape, h.shape[2], d_w.shape[2], ctx.saved[7].shape[2]
        arrays = _arrays(norm if normed else 5 * norm)
        d_norm = tuple(np.zeros_like(part) for part in arrays)
        backward(
            *ctx.texts,
            tuple(map(pack, _arrays([W_h, W_x[:, D:], W_q]))),
            _zeros((N, padded(H)), (N, H), (N, padded(A)), (N, K), (N, padded(H)), (6 * H,)),
            ctx.saved,
            _arrays([d_h.clone(), d_w]),  # autograd's own d_h stays as it is
            arrays,
            d_norm,
        )
        a, kept, _, h_before, _, w_before, q = (torch.from_numpy(s).flatten(0, 1) for s in ctx.saved[:7])
        of_points = torch.cat([product(a.mT, x.flatten(0, 1)), product(a.mT, w_before)], 1)
        of_h = product((kept if normed else a).mT, h_before)
        of_norm = map(torch.from_numpy, d_norm) if normed else [a.sum(0)]
        return (*(None,) * 8, of_points, of_h, product(q.mT, h.flatten(0, 1)), q.sum(0), *of_norm)


def _zeros(*shapes: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(np.zeros(shape, np.float32) for shape in shapes)


def _arrays(tensors: Iterable[Tensor]) -> tuple[np.ndarray, ...]:
    return tuple(t.detach().contiguous().numpy() for t in tensors)

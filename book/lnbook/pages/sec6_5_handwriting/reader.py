r"""An LSTM that reads a text through a window that it moves: the first layer of Graves' network.

At step t it sees the pen, $x_t$, and the part $w_{t-1}$ of the text that it last looked at. Then it looks:

$$(\hat\alpha_t, \hat\beta_t, \hat\kappa_t) = W h_t + b, \quad \alpha_t = e^{\hat\alpha_t}, \quad
\beta_t = e^{\hat\beta_t}, \quad \kappa_t = \kappa_{t-1} + e^{\hat\kappa_t},$$

$$\phi(t, u) = \sum_k \alpha_t^k e^{-\beta_t^k(\kappa_t^k - u)^2}, \quad w_t = \sum_u \phi(t, u)\,c_u.$$

*Source* Graves (2013), Eqs. (46)-(51); $c_u$ is the one-hot code of character u, and u counts from 0.
"""

from __future__ import annotations

from math import log
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from lnlib.matmul import product
from lnlib.rnn import LSTM
from lnlib.rnn.backends import why_not_compiled


class ReadingState(NamedTuple):
    """What is carried from step to step."""

    h: Tensor  # (N, H)
    c: Tensor  # (N, H)
    w: Tensor  # the window, (N, A)
    kappa: Tensor  # where its Gaussians stand, (N, K)


class Look(NamedTuple):
    """What the layer gives at each step."""

    h: Tensor  # (T, N, H)
    w: Tensor  # the window, (T, N, A)
    phi: Tensor  # the weights of the characters, (T, N, U)


def window(
    q: Float[Tensor, "N P"], kappa: Float[Tensor, "N K"], codes: Float[Tensor, "N U A"]
) -> tuple[Float[Tensor, "N A"], Float[Tensor, "N U"], Float[Tensor, "N K"]]:
    r"""One look at the text: the window w, the weights $\phi$ of the characters, and the new positions.

    `q` are $\hat\alpha, \hat\beta, \hat\kappa$, `kappa` the positions before, `codes` one-hot characters;
    zeros where a text has ended.

    >>> codes = torch.eye(3).unsqueeze(0)
    >>> q = torch.tensor([[0.0, 5.0, 0.0]])  # one narrow Gaussian, to be moved by 1
    >>> window(q, torch.zeros(1, 1), codes)[0].round(decimals=2)
    tensor([[0., 1., 0.]])
    """
    alpha, beta, moved = q.exp().chunk(3, 1)
    kappa = kappa + moved
    u = torch.arange(codes.shape[1], dtype=q.dtype, device=q.device)
    near = (-beta.unsqueeze(2) * (kappa.unsqueeze(2) - u).square()).exp()
    phi = torch.bmm(alpha.unsqueeze(1), near) * codes.sum(2).unsqueeze(1)
    return torch.bmm(phi, codes).squeeze(1), phi.squeeze(1), kappa


class ReadingLSTM(nn.Module):
    r"""The layer.

    In float32 on the CPU its loop over time is compiled, with numba; elsewhere it is torch's operations.
    Gradients reach the parameters, and neither the points nor the state: carried states end them.

    Norm "layer" is that of Eqs. (20)-(22), the other "none". At first the window moves at a `pace` of so many
    characters a step, by its bias; Graves does not say.
    """

    def __init__(
        self, inputs: int, units: int, *, characters: int, gaussians: int, norm: str, pace: float
    ) -> None:
        super().__init__()
        self.inputs, self.units, self.characters, self.gaussians = inputs, units, characters, gaussians
        self.lstm = LSTM(inputs + characters, units, norm=norm)
        self.window = nn.Linear(units, 3 * gaussians)
        self.pace = pace
        self.begin()

    def begin(self) -> None:
        """The window's bias at first: it moves at the pace, and sees about one character."""
        with torch.no_grad():
            alpha, beta, kappa = self.window.bias.chunk(3)
            alpha.fill_(-log(self.gaussians))
            beta.zero_()
            kappa.fill_(log(self.pace))

    def start(self, like: Float[Tensor, "T N D"]) -> ReadingState:
        """Zeros: the window stands before the text and has seen nothing."""
        sizes = (self.units, self.units, self.characters, self.gaussians)
        return ReadingState(*(like.new_zeros(like.shape[1], size) for size in sizes))

    def forward(
        self,
        x: Float[Tensor, "T N D"],
        texts: Int[Tensor, "N U"],
        lengths: Int[Tensor, " N"],
        state: ReadingState | None = None,
    ) -> tuple[Look, ReadingState]:
        """Run over points. `texts` holds numbers of characters; those past a text's end count for nothing."""
        state = self.start(x) if state is None else state
        if self.compiles(x):
            tensors = [getattr(self.lstm, f"{name}_l0") for name in self._names()]
            given = (x, texts, lengths, *state, self.window.weight, self.window.bias, *tensors)
            h, w, phi, *last = _Compiled.apply(self, *given)
            return Look(h, w, phi), ReadingState(*last)
        return self.step_by_step(x, texts, lengths, state)

    def step_by_step(
        self,
        x: Float[Tensor, "T N D"],
        texts: Int[Tensor, "N U"],
        lengths: Int[Tensor, " N"],
        state: ReadingState,
    ) -> tuple[Look, ReadingState]:
        """The same in torch's operations, on any device and in any type."""
        cell = self.lstm.cells()[0]
        codes = nn.functional.one_hot(texts, self.characters).to(x.dtype)
        inside = torch.arange(texts.shape[1], device=x.device) < lengths.unsqueeze(1)
        codes = codes * inside.unsqueeze(2)
        h, c, w, kappa = (part.detach() for part in state)
        looks = []
        for point in x:
            h, c = cell.step(cell.inputs(torch.cat([point, w], 1)), (h, c))
            w, phi, kappa = window(self.window(h), kappa, codes)
            looks.append((h, w, phi))
        return Look(*map(torch.stack, zip(*looks, strict=True))), ReadingState(h, c, w, kappa)

    def compiles(self, x: Tensor) -> bool:
        """Whether the compiled loop applies."""
        cell = LSTM(1, 1).cells()[0] if self.lstm.norm == "none" else self.lstm.cells()[0]
        return not why_not_compiled(cell, x, (self.window.weight,))

    def _names(self) -> list[str]:
        names = ["weight_ih", "weight_hh", "bias_ih", "bias_hh"]
        return names + (["gain_ih", "gain_hh", "gain_cell", "bias_cell"] if self.lstm.norm == "layer" else [])


class _Compiled(torch.autograd.Function):
    """The loop of :mod:`lnbook.pages.sec6_5_handwriting.kernels` under autograd."""

    @staticmethod
    def forward(
        ctx: Any, layer: ReadingLSTM, x: Tensor, texts: Tensor, lengths: Tensor, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        from lnbook.pages.sec6_5_handwriting import kernels
        from lnlib.rnn.kernels.matmul import pack, padded

        state, (to_window, bias, *own) = tensors[:4], tensors[4:]
        p = dict(zip(layer._names(), own, strict=True))
        normed = "gain_ih" in p
        T, N, D = x.shape
        H, K, U = layer.units, layer.gaussians, texts.shape[1]
        both = p["bias_ih"] + p["bias_hh"]
        a = product(x.flatten(0, 1), p["weight_ih"][:, :D].mT.contiguous())
        a = (a if normed else a + both).view(T, N, 4 * H)
        R, M = (T, N) if normed else (0, 0)
        shapes: list[tuple[int, ...]] = [(R, M, 4 * H), (R, M, 4), (T, N, H), (T, N, H)]
        shapes += [(T, N, layer.characters), (T, N, 3 * K), (T, N, K), (T, N, K, U)]
        saved = (a.detach().numpy(), *(np.empty(shape, np.float32) for shape in shapes))
        norm = _norm(p, both, H)
        packed = [pack(m.detach().numpy()) for m in _matrices(p, to_window, D)]
        rows = [np.empty((N, padded(size)), np.float32) for size in (4 * H, 4 * H, 3 * K)]
        out = tuple(torch.empty(T, N, size, dtype=torch.float32) for size in (H, layer.characters, U))
        carried = tuple(s.detach().clone(memory_format=torch.contiguous_format) for s in state)
        words, ends = texts.contiguous().numpy(), lengths.contiguous().numpy()
        kernels.forward(
            normed,
            words,
            ends,
            tuple(packed),
            (*rows, np.empty(6 * H, np.float32)),
            saved,
            tuple(s.numpy() for s in carried),
            tuple(o.numpy() for o in out),
            norm,
            bias.detach().contiguous().numpy(),
            np.float32(layer.lstm.config.eps),
        )
        ctx.mark_non_differentiable(out[2], *carried)
        ctx.set_materialize_grads(True)
        ctx.layer, ctx.normed, ctx.saved, ctx.texts = layer, normed, saved, (words, ends)
        ctx.save_for_backward(x, out[0], out[2], to_window, *own)
        return (*out, *carried)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_h: Tensor, d_w: Tensor, *others: Tensor) -> tuple[Tensor | None, ...]:
        from lnbook.pages.sec6_5_handwriting import kernels
        from lnlib.rnn.kernels.matmul import pack, padded

        x, h, phi, to_window, *own = ctx.saved_tensors
        layer, normed, saved = ctx.layer, ctx.normed, ctx.saved
        p = dict(zip(layer._names(), own, strict=True))
        (N, D), H, K, A = x.shape[1:], layer.units, layer.gaussians, layer.characters
        norm = _norm(p, p["bias_ih"] + p["bias_hh"], H)
        d_norm = tuple(np.zeros_like(part) for part in norm)
        packed = [pack(m.detach().mT.numpy()) for m in _matrices(p, to_window, D)]
        shapes = [(N, padded(H)), (N, H), (N, padded(A)), (N, K), (N, padded(H)), (A,), (6 * H,)]
        kernels.backward(
            normed,
            *ctx.texts,
            tuple(packed),
            tuple(np.zeros(shape, np.float32) for shape in shapes),
            saved,
            phi.numpy().copy(),
            (d_h.clone(memory_format=torch.contiguous_format).numpy(), d_w.contiguous().numpy()),
            norm,
            d_norm,
        )
        a, kept, _, h_before, _, w_before, q, _, _ = (
            torch.from_numpy(s).flatten(0, 1) if s.ndim > 2 else s for s in saved
        )
        d_ih = torch.cat([product(a.mT, x.flatten(0, 1)), product(a.mT, w_before)], 1)
        d_hh = product((kept if normed else a).mT, h_before)
        found = {"weight_ih": d_ih, "weight_hh": d_hh}
        if normed:
            d_gain_ih, d_gain_hh, d_bias, d_gain_cell, d_bias_cell = map(torch.from_numpy, d_norm)
            found |= {"gain_ih": d_gain_ih, "gain_hh": d_gain_hh}
            found |= {"gain_cell": d_gain_cell, "bias_cell": d_bias_cell}
        else:
            d_bias = a.sum(0)
        found |= {"bias_ih": d_bias, "bias_hh": d_bias.clone()}
        of_window = product(q.mT, h.flatten(0, 1)), q.sum(0)
        return (*(None,) * 8, *of_window, *(found[name] for name in layer._names()))


def _matrices(p: dict[str, Tensor], to_window: Tensor, inputs: int) -> tuple[Tensor, Tensor, Tensor]:
    """By which h, the window and h again are multiplied, one column a result."""
    return p["weight_hh"].mT, p["weight_ih"][:, inputs:].mT, to_window.mT


def _norm(p: dict[str, Tensor], bias: Tensor, units: int) -> tuple[np.ndarray, ...]:
    """Gains and biases as the kernels take them; without a norm, room that is not read."""
    nothing = torch.zeros(units)
    parts = [p.get(name, nothing) for name in ("gain_ih", "gain_hh", "gain_cell", "bias_cell")]
    parts.insert(2, bias)
    return tuple(part.detach().contiguous().numpy() for part in parts)

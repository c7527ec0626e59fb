r"""An LSTM that reads a text through a window that it moves: the first layer of Graves' network.

At step t it sees the pen, $x_t$, and the part $w_{t-1}$ of the text that it last looked at. Then it looks:

$$(\hat\alpha_t, \hat\beta_t, \hat\kappa_t) = W h_t + b, \quad \alpha_t = e^{\hat\alpha_t}, \quad
\beta_t = e^{\hat\beta_t}, \quad \kappa_t = \kappa_{t-1} + e^{\hat\kappa_t},$$

$$\phi(t, u) = \sum_k \alpha_t^k e^{-\beta_t^k(\kappa_t^k - u)^2}, \quad w_t = \sum_u \phi(t, u)\,c_u.$$

*Source* Graves (2013), Eqs. (46)-(51); $c_u$ is the one-hot code of character u, and u counts from 0.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

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
        cell = self.lstm.cells()[0]
        if self.compiles(x):
            from lnbook.pages.sec6_5_handwriting.kernels import Loop

            p = cell.p
            norm = [p["bias_ih"] + p["bias_hh"]]
            if cell.norm == "layer":
                norm = [p["gain_ih"], p["gain_hh"], *norm, p["gain_cell"], p["bias_cell"]]
            weights = (p["weight_ih"], p["weight_hh"], self.window.weight, self.window.bias)
            h, w, phi, *last = Loop.apply(cell.eps, x, texts, lengths, *state, *weights, *norm)
            return Look(h, w, phi), ReadingState(*last)
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

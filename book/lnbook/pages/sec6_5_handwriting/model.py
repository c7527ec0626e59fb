r"""Graves' network that writes a text: three LSTMs over the pen's points, the first of which reads.

Each layer sees the pen, $x_t$; the layers above the first see the window $w_t$ of the text and the layer
below; the output sees all three layers:

$$h^1_t = \mathrm{LSTM}(h^1_{t-1}, [x_t, w_{t-1}]), \quad
h^n_t = \mathrm{LSTM}(h^n_{t-1}, [x_t, h^{n-1}_t, w_t]), \quad
\hat y_t = b + \sum_{n=1}^3 W_n h^n_t,$$

and $\hat y_t$ are the parameters of the mixture from which $x_{t+1}$ is drawn.

*Source* Graves (2013), section 5, Eqs. (52), (53); with norm "layer" each LSTM is that of Eqs. (20)-(22).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lnbook.pages.sec6_5_handwriting.mixture import mixture, nll
from lnbook.pages.sec6_5_handwriting.reader import ReadingLSTM, ReadingState
from lnbook.shared.studies import begin
from lnlib.linear import Linear
from lnlib.rnn import LSTM


class State(NamedTuple):
    """What is carried: of the layer that reads, and (h, c) of the two above it."""

    first: ReadingState
    second: tuple[Tensor, Tensor]
    third: tuple[Tensor, Tensor]


class Handwriting(nn.Module):
    """The network: M `components` of the pen's mixture, K `gaussians` of the window, norm "none" or "layer".

    The window moves at first at a `pace` of so many characters a point. Weights are the same for both norms:
    uniform within 1 / sqrt(units), as torch does. Gains are 1, biases 0, but those of the window.

    >>> model = Handwriting(8, characters=5, norm="layer", generator=torch.Generator())
    >>> lengths, texts = torch.tensor([4, 3]), torch.tensor([[0, 1], [4, 4]])
    >>> model(torch.randn(2, 5, 3), lengths, texts, torch.tensor([2, 2])).shape
    torch.Size([2])
    """

    def __init__(
        self,
        units: int,
        *,
        characters: int,
        norm: str,
        generator: torch.Generator,
        components: int = 20,
        gaussians: int = 10,
        pace: float = 0.1,
    ) -> None:
        super().__init__()
        reads = {"characters": characters, "gaussians": gaussians, "norm": norm, "pace": pace}
        self.first = ReadingLSTM(3, units, **reads)  # type: ignore[arg-type]
        self.second = LSTM(3 + units + characters, units, norm=norm)
        self.third = LSTM(3 + units + characters, units, norm=norm)
        self.output = Linear(3 * units, 6 * components + 1)
        begin(self, units, generator)
        self.first.begin()

    def start(self, like: Float[Tensor, "T N 3"]) -> State:
        """Zeros."""
        zeros = like.new_zeros(1, like.shape[1], self.second.hidden_size)
        return State(self.first.start(like), (zeros, zeros), (zeros, zeros))

    def steps(
        self,
        x: Float[Tensor, "T N 3"],
        texts: Int[Tensor, "N U"],
        letters: Int[Tensor, " N"],
        state: State,
    ) -> tuple[Float[Tensor, "T N P"], Float[Tensor, "T N U"], State]:
        r"""The outputs $\hat y$ after each point, where the window looked ($\phi$), and the last state."""
        look, first = self.first(x, texts, letters, state.first)
        h2, second = self.second(torch.cat([x, look.h, look.w], 2), state.second)
        h3, third = self.third(torch.cat([x, h2, look.w], 2), state.third)
        y = self.output(torch.cat([look.h, h2, h3], 2))
        return y, look.phi, State(first, second, third)

    def forward(
        self,
        points: Float[Tensor, "N S 3"],
        lengths: Int[Tensor, " N"],
        texts: Int[Tensor, "N U"],
        letters: Int[Tensor, " N"],
        back: int = 0,
    ) -> Float[Tensor, " N"]:
        """The negative log-likelihood of each sequence, in nats, given its text.

        Points are (dx, dy, end of stroke); the first is where all begin, (0, 0, 1), and `lengths` are to be
        predicted. Gradients go `back` so many steps at most, states are carried on; 0: to the beginning.
        """
        x = points.transpose(0, 1)
        counted = torch.arange(len(x) - 1, device=x.device).unsqueeze(1) < lengths
        state, total = self.start(x), []
        for seen, aim, counts in zip(
            *(part.split(back or len(x)) for part in (x[:-1], x[1:], counted)), strict=True
        ):
            (h2, c2), (h3, c3) = state.second, state.third  # of the layer that reads, its forward ends them
            state = State(state.first, (h2.detach(), c2.detach()), (h3.detach(), c3.detach()))
            y, _, state = self.steps(seen, texts, letters, state)
            total.append((nll(mixture(y), aim) * counts).sum(0))
        return torch.stack(total).sum(0)

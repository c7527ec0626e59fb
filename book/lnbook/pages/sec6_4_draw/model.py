r"""DRAW: a recurrent autoencoder that reads a picture in glimpses and paints it stroke by stroke.

Gregor, Danihelka, Graves, Rezende, Wierstra (2015). From $c_0 = 0$, $h_0 = 0$, at glimpses $t = 1, \dots, T$:

$$\hat x_t = x - \sigma(c_{t-1}), \quad
r_t = [\gamma F_Y x F_X^\top, \gamma F_Y \hat x_t F_X^\top], \quad
h^e_t = \mathrm{LSTM}(h^e_{t-1}, [r_t, h^d_{t-1}]),$$

$$z_t \sim \mathcal N(\mu_t, \sigma_t^2), \quad (\mu_t, \log\sigma_t) = W h^e_t + b, \quad
h^d_t = \mathrm{LSTM}(h^d_{t-1}, z_t), \quad c_t = c_{t-1} + \tfrac1\gamma F_Y^\top w_t F_X.$$

Where the filters $F$ look is said by $h^d$, for reading and for writing each; without a picture, $z_t$ comes
from the prior $\mathcal N(0, I)$. The bound, in nats, is the Bernoulli log-loss of x under
$\sigma(c_T)$ plus the divergences of all $z_t$ from the prior. The original learns $c_0$ and $h_0$; here they
are 0.

With norm "layer" both LSTMs are those of the paper's Eqs. (29)-(31): the cell alone is normalized. With
"propagation" they keep the size of their states without measuring it: rows of the weights have length 1, and
what the non-linearities do to a standard normal number is divided out once and for all,

$$(i, f, g, o) = \gamma_x \frac{W_x}{\lVert W_{x,i}\rVert} x_t
+ \gamma_h \frac{W_h}{\lVert W_{h,i}\rVert} h_{t-1} + b, \quad
c_t = \sigma(f)\,c_{t-1} + \sigma(i)\tanh(g), \quad
h_t = \frac{\sigma(o)}{\sqrt{\mathrm{Var}\,h}}\tanh\frac{\gamma_c\,c_t}{\sqrt{\mathrm{Var}\,c}}$$

(Laurent, Ballas, Vincent, 2017, their Eqs. (5)-(15)); both variances are those of the first gains.
"""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from math import log
from typing import TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Generator, Tensor, nn

from lnbook.shared.studies import begin
from lnlib import layer_norm
from lnlib.linear import Linear, linear

GAIN = 0.5  # of all three of norm propagation: Laurent and others (2017), their Section 5.2
SMALLER = 0.3  # weights that read the larger states of "propagation": as large first strokes as with "layer"

Pictures: TypeAlias = Float[Tensor, "N A A"]
Filters: TypeAlias = Float[Tensor, "N P 2 A"]  # $F_X$, $F_Y$ on axis 2
Window: TypeAlias = Float[Tensor, "N 5"]  # as `filterbanks` takes it
Codes: TypeAlias = Float[Tensor, "T N Z"]
Nats: TypeAlias = Float[Tensor, " N"]
Code: TypeAlias = Float[Tensor, "N Z"]
Glimpse: TypeAlias = tuple[Pictures, Window, Code, Code, Code]


def filterbanks(windows: Float[Tensor, "N W 5"], points: Sequence[int], side: int) -> tuple[Filters, ...]:
    r"""The Gaussian filters of several square windows, one row a point of the grid.

    $F[i, a] = \exp\left(-\frac{(a-\mu_i)^2}{2\sigma^2}\right)/Z_i$ with
    $\mu_i = g + (i - \frac P2 - \frac12)\,\delta$, where $a = 1, \dots, A$ counts pixels, $i = 1, \dots, P$
    points, and $Z_i$ makes the row's sum 1; $g = \frac{A+1}2(\tilde g + 1)$,
    $\delta = \frac{A-1}{P-1}\tilde\delta$. A window is
    $(\tilde g_X, \tilde g_Y, \log\sigma^2, \log\tilde\delta, \log\gamma)$.

    *Source* Gregor and others (2015), their Eqs. (19)-(26). A softmax, so that a window far outside of the
    picture has no $0/0$; for one point $\delta$ has no meaning and no effect.
    """
    owner, offsets, pixels = _grid(tuple(points), side, windows.dtype, windows.device)
    each = windows.index_select(1, owner)  # (N, all points, 5)
    center = each[..., :2] * ((side + 1) / 2) + (side + 1) / 2
    center = center + (each[..., 3].exp() * offsets).unsqueeze(-1)
    squares = (pixels - center.unsqueeze(-1)).square()
    logits = squares * each[..., 2].neg().exp().mul(-0.5)[..., None, None]
    return logits.softmax(-1).split(list(points), 1)


@cache
def _grid(points: tuple[int, ...], side: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, ...]:
    """Which window each point belongs to, how far it is from the window's center; the pixels' places."""
    owner = [w for w, P in enumerate(points) for _ in range(P)]
    offsets = [(i - (P - 1) / 2) * (side - 1) / max(P - 1, 1) for P in points for i in range(P)]
    pixels = torch.arange(1, side + 1, dtype=dtype, device=device)
    return torch.tensor(owner, device=device), torch.tensor(offsets, dtype=dtype, device=device), pixels


def variances(gain: float) -> tuple[float, float]:
    r"""The variances of the cell and of the state that are divided out, all gains being equal.

    With $s = \gamma_x + \gamma_h$, z standard normal, and the second moment $m = E[\sigma(sz)^2]$ of a gate,

    $$\mathrm{Var}\,c = \frac{m}{1-m}\,\mathrm{Var}[\tanh(sz)], \qquad
    \mathrm{Var}\,h = m\,\mathrm{Var}[\tanh(\gamma_c z)].$$

    *Source* Laurent and others (2017), their Eqs. (8)-(12): independent gates, and a cell that has settled.
    The sum s is theirs; an input and a state that are independent would give the root of the sum of squares.

    >>> tuple(round(v, 4) for v in variances(0.5))
    (0.1637, 0.0509)
    """
    z = np.linspace(-10, 10, 2001)  # a mean on a fine grid is exact for smooth functions
    mean = partial(np.average, weights=np.exp(-(z**2) / 2))
    gate = mean((1 / (1 + np.exp(-2 * gain * z))) ** 2)
    cell = gate / (1 - gate) * mean(np.tanh(2 * gain * z) ** 2)
    return float(cell), float(gate * mean(np.tanh(gain * z) ** 2))


VARIANCES = variances(GAIN)


class Draw(nn.Module):
    """The model, with `codes` numbers a glimpse, and windows to `read` and `write` of so many points a side.

    Weights are the same for all norms: uniform within 1 / sqrt(units), as in torch; with "propagation" rows
    then have length 1. Gains are 1 or `GAIN`, biases 0, but the windows begin as tilings of the picture.
    """

    def __init__(
        self, side: int, *, units: int, codes: int, norm: str, generator: Generator, write: int, read: int = 2
    ) -> None:
        super().__init__()
        self.side, self.units, self.points, self.norm = side, units, (read, write), norm
        self.encoder = OneBiasLSTM(2 * read**2 + units, units, norm)
        self.decoder = OneBiasLSTM(codes, units, norm)
        self.posterior = nn.utils.skip_init(Linear, units, 2 * codes)
        self.strokes = nn.utils.skip_init(Linear, units, 2 * 5 + write**2)
        begin(self, units, generator)
        with torch.no_grad():
            if norm == "propagation":
                for gain in (p for name, p in self.named_parameters() if "gain" in name):
                    gain.fill_(GAIN)
                self.posterior.weight.mul_(SMALLER)
                self.strokes.weight.mul_(SMALLER)
                self.project()
            self.strokes.bias[:5] = _tiling(read, side, paints=False)
            self.strokes.bias[5:10] = _tiling(write, side, paints=True)

    def forward(self, x: Pictures, noise: Codes) -> tuple[Nats, Nats, Nats]:
        r"""The two terms of the bound on $-\log p(x)$, in nats, from one draw of the codes by normal noise.

        $-\log p(x \mid z)$ over pixels, and $\frac12\sum_{t,k}(\mu^2 + \sigma^2 - \log\sigma^2 - 1)$. And the
        second as this draw has it, $\log\frac{q(z \mid x)}{p(z)}$, whose mean over draws is the same.
        """
        canvases, _, *codes = zip(*self.unroll(noise, x), strict=True)
        z, mean, log_std = map(torch.stack, codes)
        log_loss = F.binary_cross_entropy_with_logits(canvases[-1], x, reduction="none")
        divergence = 0.5 * (mean.square() + (2 * log_std).exp() - 1) - log_std
        drawn = 0.5 * (z.square() - noise.square()) - log_std
        return log_loss.sum((1, 2)), divergence.sum((0, 2)), drawn.sum((0, 2))

    def unroll(self, noise: Codes, x: Pictures | None = None) -> Iterator[Glimpse]:
        """Glimpse after glimpse: of a picture, or, without one, of what the model makes up.

        Each leaves the canvas, in logits; where it painted; its code z, and the mean and the logarithm of the
        deviation of its posterior, 0 without a picture.
        """
        cases = noise.shape[1]
        canvas = noise.new_zeros(cases, self.side, self.side)
        encoder = decoder = tuple(noise.new_zeros(2, cases, self.units))
        encode, decode = self.encoder.weights(), self.decoder.weights()
        windows, patch = self._strokes(decoder[0])
        banks = filterbanks(windows, self.points, self.side)
        for epsilon in noise.unbind():
            mean, log_std, z = torch.zeros_like(epsilon), torch.zeros_like(epsilon), epsilon
            if x is not None:
                seen = self.read(x, canvas, banks[0], windows[:, 0])
                encoder = self.encoder.step(encode, torch.cat([seen, decoder[0]], 1), *encoder)
                mean, log_std = self.posterior(encoder[0]).chunk(2, 1)
                z = mean + log_std.exp() * epsilon
            decoder = self.decoder.step(decode, z, *decoder)
            windows, patch = self._strokes(decoder[0])
            banks = filterbanks(windows, self.points, self.side)
            canvas = canvas + self.painted(patch, banks[1], windows[:, 1])
            yield canvas, windows[:, 1], z, mean, log_std

    @torch.no_grad()
    def project(self) -> None:
        """Bring the rows of norm propagation's weights back to length 1, as its authors do at each update."""
        for lstm in (self.encoder, self.decoder) if self.norm == "propagation" else ():
            for weight in (lstm.weight_ih, lstm.weight_hh):
                weight.copy_(F.normalize(weight))

    def _strokes(self, h: Tensor) -> tuple[Float[Tensor, "N 2 5"], Float[Tensor, "N P P"]]:
        """Where to read next and where to write now, and what to write: one product for all."""
        windows, patch = self.strokes(h).split([10, self.points[1] ** 2], 1)
        return windows.unflatten(1, (2, 5)), patch.unflatten(1, (self.points[1], -1))

    @staticmethod
    def read(x: Pictures, canvas: Pictures, bank: Filters, window: Window) -> Float[Tensor, "N R"]:
        """The picture and what is wrong with the canvas, both through the window."""
        across, down = bank[:, :, 0].mT, bank[:, :, 1]
        pictures = torch.cat([x, x - canvas.sigmoid()], 2)  # side by side
        rows = torch.bmm(down, pictures).view(len(x), -1, x.shape[1])
        return torch.bmm(rows, across).flatten(1) * window[:, 4:].exp()

    @staticmethod
    def painted(patch: Float[Tensor, "N P P"], bank: Filters, window: Window) -> Pictures:
        """What a patch of the window adds to the canvas."""
        across, down = bank[:, :, 0], bank[:, :, 1].mT
        return torch.bmm(down, torch.bmm(patch, across)) * window[:, 4:, None].neg().exp()


def _tiling(points: int, side: int, paints: bool) -> Float[Tensor, " 5"]:
    """A window of the P x P tiles' centers, each blurred over its tile; a patch of ones paints about 1."""
    apart = (side - 1) / points
    shrink, density = max(points - 1, 1) / points, (side / points) ** 2
    return torch.tensor([0.0, 0.0, 2 * log(apart / 2), log(shrink), -log(density) if paints else 0.0])


class OneBiasLSTM(nn.Module):
    """An LSTM that runs step by step: one bias, as Eq. (29) has it, and gates in torch's order."""

    def __init__(self, inputs: int, units: int, norm: str) -> None:
        super().__init__()
        self.norm = norm
        self.weight_ih = nn.Parameter(torch.empty(4 * units, inputs))
        self.weight_hh = nn.Parameter(torch.empty(4 * units, units))
        self.bias_ih = nn.Parameter(torch.empty(4 * units))
        if norm == "propagation":
            self.gain_ih, self.gain_hh = (nn.Parameter(torch.empty(4 * units)) for _ in range(2))
        if norm != "none":
            self.gain_cell = nn.Parameter(torch.empty(units))
        if norm == "layer":
            self.bias_cell = nn.Parameter(torch.empty(units))

    def weights(self) -> tuple[Tensor, ...]:
        """Of the input and of the state, for all steps of a pass: with norm propagation gains times rows."""
        both = self.weight_ih, self.weight_hh
        if self.norm != "propagation":
            return both
        gains = self.gain_ih, self.gain_hh
        return tuple(g.unsqueeze(1) * F.normalize(w) for g, w in zip(gains, both, strict=True))

    def step(self, weights: tuple[Tensor, ...], x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """h and c after a step with these `weights`; products on oneDNN."""
        i, f, g, o = (linear(x, weights[0], self.bias_ih) + linear(h, weights[1])).chunk(4, 1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        if self.norm == "propagation":
            var_c, var_h = VARIANCES
            return torch.sigmoid(o) * torch.tanh(self.gain_cell * c / var_c**0.5) / var_h**0.5, c
        shown = layer_norm(c, self.gain_cell, self.bias_cell, 1e-5) if self.norm == "layer" else c
        return torch.sigmoid(o) * torch.tanh(shown), c

r"""Graves' network that writes a text: three LSTMs over the pen's points, the first of which reads.

At step t the first layer sees the pen, $x_t$, and the part $w_{t-1}$ of the text that it last looked at. Then
it looks through a window that it moves:

$$(\hat\alpha_t, \hat\beta_t, \hat\kappa_t) = W h^1_t + b, \quad \alpha_t = e^{\hat\alpha_t}, \quad
\beta_t = e^{\hat\beta_t}, \quad \kappa_t = \kappa_{t-1} + e^{\hat\kappa_t},$$

$$\phi(t, u) = \sum_k \alpha_t^k e^{-\beta_t^k(\kappa_t^k - u)^2}, \quad w_t = \sum_u \phi(t, u)\,c_u.$$

The layers above it see the pen, the window and the layer below, and the output sees all three layers:

$$h^1_t = \mathrm{LSTM}(h^1_{t-1}, [x_t, w_{t-1}]), \quad
h^n_t = \mathrm{LSTM}(h^n_{t-1}, [x_t, h^{n-1}_t, w_t]), \quad
\hat y_t = b + \sum_{n=1}^3 W_n h^n_t,$$

and $\hat y_t$, each on a scale that is free of bounds, are the 6M + 1 parameters of the density from which
$x_{t+1}$ is drawn, a mixture of bivariate Gaussians, and a coin for the end of a stroke:

$$p(x, e) = \Big[\sum_m \pi_m\,\mathcal N(x \mid \mu_m, \sigma_m, \rho_m)\Big]\,q^e(1-q)^{1-e}.$$

*Source* Graves (2013), section 5, Eqs. (46)-(53); $c_u$ is the one-hot code of character u, and u counts from
0. With norm "layer" each LSTM is that of Eqs. (20)-(22).
"""

from collections.abc import Sequence
from math import log, pi
from typing import Any, NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from lnbook.shared.studies import begin
from lnlib.linear import Linear
from lnlib.rnn import LSTM
from lnlib.rnn.backends import why_not_compiled

Pen: TypeAlias = Float[Tensor, "T N 3"]  # (dx, dy, 1 where a stroke ends); the first point is (0, 0, 1)
Texts: TypeAlias = Int[Tensor, "N U"]
Counts: TypeAlias = Int[Tensor, " N"]
# what the layer that reads gives at each step: h, the window w, the weights phi of the characters
Looks: TypeAlias = tuple[Float[Tensor, "T N H"], Float[Tensor, "T N A"], Float[Tensor, "T N U"]]
# and what it carries on: h and c, (N, H), the window w, (N, A), where its Gaussians stand, (N, K)
ReadingState: TypeAlias = tuple[Tensor, Tensor, Tensor, Tensor]
CLOSEST = 0.999  # |rho| stays below, so that 1 - rho^2 is 0.002 at least
FINEST = 7.0  # |log sigma| stays within: e^-7 is a thousandth of a usual offset


class ReadingLSTM(nn.Module):
    """The first layer. Gradients reach its parameters, and neither the points nor the state before.

    In float32 on the CPU its loop over time is compiled, with numba; elsewhere it is torch's operations.
    """

    def __init__(self, units: int, *, characters: int, gaussians: int, norm: str) -> None:
        super().__init__()
        self.characters = characters
        self.lstm = LSTM(3 + characters, units, norm=norm)
        self.window = nn.Linear(units, 3 * gaussians)

    def forward(
        self, x: Pen, texts: Texts, lengths: Counts, state: ReadingState | None = None
    ) -> tuple[Looks, ReadingState]:
        """Run over points. `texts` holds numbers of characters; those past a text's end count for nothing."""
        units = self.lstm.hidden_size
        sizes = (units, units, self.characters, self.window.out_features // 3)
        h, c, w, kappa = state or (x.new_zeros(x.shape[1], size) for size in sizes)
        cell = self.lstm.cells()[0]
        like = LSTM(1, 1).cells()[0] if cell.norm == "none" else cell  # a norm that `lnlib` compiles
        if not why_not_compiled(like, x, (self.window.weight,)):
            from lnbook.pages.sec6_5_handwriting.kernels import Loop

            p = cell.p
            norm = [p["bias_ih"] + p["bias_hh"]]
            if cell.norm == "layer":
                norm = [p["gain_ih"], p["gain_hh"], *norm, p["gain_cell"], p["bias_cell"]]
            weights = (p["weight_ih"], p["weight_hh"], self.window.weight, self.window.bias)
            found = Loop.apply(cell.eps, x, texts, lengths, h, c, w, kappa, *weights, *norm)
            return found[:3], found[3:]
        inside = torch.arange(texts.shape[1], device=x.device) < lengths.unsqueeze(1)
        codes = F.one_hot(texts, self.characters).to(x.dtype) * inside.unsqueeze(2)
        u = torch.arange(texts.shape[1], dtype=x.dtype, device=x.device)
        h, c, w, kappa = (part.detach() for part in (h, c, w, kappa))
        steps = []
        for point in x:
            h, c = cell.step(cell.inputs(torch.cat([point, w], 1)), (h, c))
            alpha, beta, moved = self.window(h).exp().chunk(3, 1)
            kappa = kappa + moved
            near = (-beta.unsqueeze(2) * (kappa.unsqueeze(2) - u).square()).exp()
            phi = torch.bmm(alpha.unsqueeze(1), near) * inside.unsqueeze(1)
            w = torch.bmm(phi, codes).squeeze(1)
            steps.append((h, w, phi.squeeze(1)))
        each_h, each_w, each_phi = map(torch.stack, zip(*steps, strict=True))
        return (each_h, each_w, each_phi), (h, c, w, kappa)


class Handwriting(nn.Module):
    """The network: M `components` of the pen's mixture, K `gaussians` of the window, norm "none" or "layer".

    The window moves at first at a `pace` of so many characters a point, and sees about one; Graves does not
    say. Weights, the same for both norms, are uniform within 1 / sqrt(units), as in torch, other biases 0.
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
        self.first = ReadingLSTM(units, characters=characters, gaussians=gaussians, norm=norm)
        self.second, self.third = (LSTM(3 + units + characters, units, norm=norm) for _ in range(2))
        self.output = Linear(3 * units, 6 * components + 1)
        begin(self, units, generator)
        with torch.no_grad():
            begun = torch.tensor([-log(gaussians), 0.0, log(pace)])
            self.first.window.bias.copy_(begun.repeat_interleave(gaussians))

    def steps(
        self, x: Pen, texts: Texts, letters: Counts, state: Sequence[Any] = (None, None, None)
    ) -> tuple[Float[Tensor, "T N P"], Float[Tensor, "T N U"], Sequence[Any]]:
        r"""The outputs $\hat y$ and the weights $\phi$ after each point, and the last state of each layer."""
        (h1, w, phi), first = self.first(x, texts, letters, state[0])
        h2, second = self.second(torch.cat([x, h1, w], 2), state[1])
        h3, third = self.third(torch.cat([x, h2, w], 2), state[2])
        return self.output(torch.cat([h1, h2, h3], 2)), phi, (first, second, third)

    def forward(
        self, points: Float[Tensor, "N S 3"], lengths: Counts, texts: Texts, letters: Counts, back: int = 0
    ) -> Float[Tensor, " N"]:
        """The negative log-likelihood of each sequence's points after the first, in nats, given its text.

        Gradients go `back` so many steps at most, states are carried on; 0: to the beginning.
        """
        x = points.transpose(0, 1)
        counted = torch.arange(len(x) - 1, device=x.device).unsqueeze(1) < lengths
        chunks = zip(*(part.split(back or len(x)) for part in (x[:-1], x[1:], counted)), strict=True)
        state: Sequence[Any] = (None, None, None)
        total = []
        for seen, aim, counts in chunks:
            y, _, (first, *upper) = self.steps(seen, texts, letters, state)
            state = first, *(tuple(part.detach() for part in pair) for pair in upper)
            total.append((nll(mixture(y), aim) * counts).sum(0))
        return torch.stack(total).sum(0)


class Mixture(NamedTuple):
    """The density's parameters: M components, each for x and y."""

    log_weight: Tensor  # (..., M)
    mean: Tensor  # (..., M, 2)
    log_std: Tensor  # (..., M, 2)
    rho: Tensor  # (..., M)
    lift: Tensor  # (...), the log-odds that the stroke ends


def mixture(y: Float[Tensor, "*N P"], bias: float | Float[Tensor, "*N"] = 0.0) -> Mixture:
    r"""The density of a network's P = 6M + 1 outputs; `bias` is Graves' b, above 0 for only what is likely.

    $\pi = \mathrm{softmax}(\hat\pi(1+b))$, $\sigma = e^{\hat\sigma - b}$, $\rho = 0.999\tanh\hat\rho$.

    *Source* Graves (2013), Eqs. (18)-(22), and (61), (62) for b; the bounds on $\rho$ and $\sigma$ are ours.
    """
    count, b = y.shape[-1] // 6, torch.as_tensor(bias)[..., None]
    weight, mean, std, rho, lift = y.split([count, 2 * count, 2 * count, count, 1], -1)
    return Mixture(
        F.log_softmax(weight * (1 + b), -1),
        mean.unflatten(-1, (count, 2)),
        std.unflatten(-1, (count, 2)).clamp(-FINEST, FINEST) - b[..., None],
        CLOSEST * torch.tanh(rho),
        lift.squeeze(-1),
    )


def nll(parameters: Mixture, point: Float[Tensor, "*N 3"]) -> Float[Tensor, "*N"]:
    r"""$-\log p$ of a point (dx, dy, 1 if the stroke ends), in nats.

    With $z = (x-\mu)/\sigma$ a component's exponent is
    $-\frac12\left(z_2^2 + \frac{(z_1-\rho z_2)^2}{1-\rho^2}\right)$: two squares, never negative by rounding.

    *Source* Graves (2013), Eqs. (23)-(26).
    """
    z = (point[..., None, :2] - parameters.mean) * (-parameters.log_std).exp()
    left = (1 - parameters.rho) * (1 + parameters.rho)
    across = (z[..., 0] - parameters.rho * z[..., 1]).square() / left
    log_density = -log(2 * pi) - parameters.log_std.sum(-1) - 0.5 * (left.log() + across + z[..., 1].square())
    of_offset = torch.logsumexp(parameters.log_weight + log_density, -1)
    of_lift = F.binary_cross_entropy_with_logits(parameters.lift, point[..., 2], reduction="none")
    return of_lift - of_offset


def draw(parameters: Mixture, generator: torch.Generator) -> Float[Tensor, "N 3"]:
    """One point of each of N mixtures."""
    which = torch.multinomial(parameters.log_weight.exp(), 1, generator=generator)[:, 0]
    _, mean, log_std, rho = (part[torch.arange(len(which)), which] for part in parameters[:4])
    noise = torch.randn(mean.shape, generator=generator, dtype=mean.dtype)
    second = rho * noise[:, 0] + ((1 - rho) * (1 + rho)).sqrt() * noise[:, 1]
    offset = mean + log_std.exp() * torch.stack([noise[:, 0], second], 1)
    coin = torch.rand(len(mean), generator=generator, dtype=mean.dtype)
    lifted = (coin < parameters.lift.sigmoid()).to(mean.dtype)
    return torch.cat([offset, lifted[:, None]], 1)

r"""Random recurrences, in mean-field theory and run: their exponents, and copies that part or meet.

$h^t = f(u^t)$ with $u^t = g\,a^t$ without a normalization and $u^t = g\,\bar a^t$ with layer norm, where
$a^t = W h^{t-1} + x\,\xi^t$, $W_{ij}\sim N(0, s^2/H)$ and $\xi^t$ is fresh standard normal noise: what many
independent inputs add up to. In theory $H\to\infty$: every summed input is then a Gaussian variable z times
its standard deviation, and all that is left to compute are averages over z. f is an elementwise function of a
float64 tensor; its derivative is autograd's.

Networks that are run have s = 1 and f = tanh. Many of them (axis B) and settings of gain and strength of the
inputs (axis S) run side by side, in float64 and without epsilon.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Generator, Tensor

from lnbook.figures import axes as on
from lnbook.figures import plots
from lnlib.rnn import LSTM
from lnlib.rnn.diagnostics import lyapunov

Function = Callable[[Tensor], Tensor]

# Midpoints of equal steps: no node at 0, where a rectifier has its kink. The error falls exponentially with
# the nodes if f is analytic. At large g the poles of f(gz) come near the real axis. There Gauss-Hermite
# quadrature fails first: 256 of its nodes miss E[f'(10z)^2] by 45 %.
_STEP = 2.0**-8
_NODES = _STEP * (torch.arange(-20 / _STEP, 20 / _STEP, dtype=torch.float64) + 0.5)
_WEIGHTS = torch.exp(-_NODES.square() / 2) * _STEP / math.sqrt(2 * math.pi)
# Of the LSTMs: how many, their units, the steps that are run, and of these left out at the start.
LSTMS = {"smoke": (2, 32, 40, 15), "book": (2, 64, 120, 40), "study": (20, 64, 220, 70)}
LOOKS: dict[str, dict[str, Any]] = {
    "none": {"color": plots.COLORS["none"], "ls": ":"},
    "layer": {"color": plots.COLORS["layer"], "ls": "-"},
    "inputs": {"color": plots.COLORS["layer"], "ls": "-."},
}
Curve = Float[np.ndarray, " points"]
Runs = Float[np.ndarray, "networks places"]


def mean_square(f: Function, gain: float) -> float:
    r"""$E[f(gz)^2] = \int f(gz)^2\,e^{-z^2/2}\,dz/\sqrt{2\pi}$ by the trapezoidal rule."""
    return float(_WEIGHTS @ f(gain * _NODES).square())


def mean_square_slope(f: Function, gain: float) -> float:
    """$E[f'(gz)^2]$."""
    return mean_square(torch.func.vmap(torch.func.grad(f)), gain)


def exponent(f: Function, gain: float) -> float:
    r"""Largest Lyapunov exponent with layer norm, nats a step, at r = 1; positive if neighboring states part.

    $\lambda = \frac12\log\frac{r\,g^2\,E[f'(gz)^2]}{E[f(gz)^2]}$ for the share r of the summed inputs'
    variance that comes from the state, whatever the scale of the weights.
    """
    return 0.5 * math.log(gain**2 * mean_square_slope(f, gain) / mean_square(f, gain))


def strength(f: Function, gain: float, share: float) -> float:
    r"""How strong inputs leave the state a share r: $x = \sqrt{E[f(gz)^2]\,(1/r - 1)}$ at s = 1."""
    return math.sqrt(mean_square(f, gain) * (1 / share - 1))


def weights(count: int, H: int, generator: Generator) -> Float[Tensor, "B H H"]:
    """Recurrent weights of so many networks, independent and of variance 1/H."""
    return torch.randn(count, H, H, generator=generator, dtype=torch.float64) / H**0.5


@dataclass(frozen=True)
class Networks:
    """Recurrences with weights of their own, each in several settings."""

    W: Float[Tensor, "B H H"]
    gain: Sequence[float]  # g of each setting
    strength: Sequence[float]  # x of each setting; 0 for no input
    norm: str = "layer"  # or "none"

    def states(self, generator: Generator) -> Float[Tensor, "B S H"]:
        """Random states to start from, of unit variance."""
        B, H, _ = self.W.shape
        return torch.randn(B, len(self.gain), H, generator=generator, dtype=self.W.dtype)

    def noise(self, generator: Generator) -> Float[Tensor, "B 1 H"]:
        """One step of inputs, the same for all settings of a network; zeros if no setting has inputs."""
        B, H, _ = self.W.shape
        if not any(self.strength):
            return self.W.new_zeros(B, 1, H)
        return torch.randn(B, 1, H, generator=generator, dtype=self.W.dtype)

    def step(self, h: Float[Tensor, "B S H"], noise: Float[Tensor, "B 1 H"]) -> Float[Tensor, "B S H"]:
        """The next states."""
        return self._output(h @ self.W.mT, noise)

    def push(
        self, h: Float[Tensor, "B S H"], v: Float[Tensor, "B S H"], noise: Float[Tensor, "B 1 H"]
    ) -> tuple[Float[Tensor, "B S H"], Float[Tensor, "B S H"]]:
        """The next states, and the Jacobians times the directions v."""
        a, da = (torch.cat([h, v], 1) @ self.W.mT).chunk(2, 1)
        return torch.autograd.functional.jvp(lambda a: self._output(a, noise), a, da)

    def _output(self, a: Float[Tensor, "B S H"], noise: Float[Tensor, "B 1 H"]) -> Float[Tensor, "B S H"]:
        gain, strength = (torch.tensor(v, dtype=a.dtype)[:, None] for v in (self.gain, self.strength))
        a = a + strength * noise
        if self.norm == "none":
            return torch.tanh(gain * a)
        a = a - a.mean(-1, keepdim=True)
        return torch.tanh(gain * a / a.square().mean(-1, keepdim=True).sqrt())


def exponents(networks: Networks, steps: int, skip: int, generator: Generator) -> Float[np.ndarray, "B S"]:
    """Largest Lyapunov exponents: the mean logarithmic growth of a random direction after `skip` steps."""
    h, v = networks.states(generator), networks.states(generator)
    total = torch.zeros(h.shape[:2], dtype=h.dtype)
    for t in range(steps):
        h, v = networks.push(h, v, networks.noise(generator))
        growth = v.norm(dim=-1)
        v = v / growth[..., None]
        if t >= skip:
            total += growth.log()
    return (total / (steps - skip)).numpy()


def twins(networks: Networks, skip: int, generator: Generator) -> Float[np.ndarray, "T B S"]:
    """The distance between two copies with the same inputs, set 1e-6 apart after `skip` steps."""
    h = networks.states(generator)
    for _ in range(skip):
        h = networks.step(h, networks.noise(generator))
    path = [torch.stack([h, h + 1e-6 * networks.states(generator)])]
    for _ in range(300):
        noise = networks.noise(generator)
        path.append(torch.stack([networks.step(h, noise) for h in path[-1]]))
    one, other = torch.stack(path, 1)
    return (other - one).square().mean(-1).sqrt().numpy()


def lstm_exponents(scale: str, seed: int, **options: Any) -> Float[np.ndarray, "draws biases"]:
    """Largest exponents of LSTMs as torch starts them, with forget biases of 0 and 4, on normal inputs."""
    draws, H, steps, skip = LSTMS[scale]
    rows = []
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        for _ in range(draws):
            lstm = LSTM(H, H, dtype=torch.float64, **options)
            x = torch.randn(steps, 1, H, dtype=torch.float64)
            state = torch.randn(2, 1, 2, H, dtype=torch.float64)[:, :, 1:]
            bias = lstm.get_parameter("bias_hh_l0").detach()[H : 2 * H]  # torch's order: i, f, g, o
            for more in (0.0, 4.0):
                bias += more
                rows.append(lyapunov(lstm, x, tuple(state), skip=skip)[:, 0])
    return torch.stack(rows).reshape(draws, 2).numpy()


def against_theory(
    curves: Mapping[str, tuple[Curve, Curve]],
    measured: Mapping[str, tuple[Sequence[float], Runs]],
    shares: Mapping[float, tuple[Curve, Curve]],
    driven: tuple[Sequence[float], Mapping[float, Runs]],
) -> Figure:
    """Exponents by gain or scale, and by the state's share at some gains: lines theory, marks networks."""
    fig, (left, right) = plots.subplots(1, 2, figsize=(7.2, 3.2))
    labels = {"layer": ("layer norm, gain $g$", "o"), "none": ("plain, weights of scale $s$", "s")}
    for norm, (label, mark) in labels.items():
        left.semilogx(*curves[norm], **LOOKS[norm])
        on.runs(left, *measured[norm], mark, color=LOOKS[norm]["color"], label=label)
    on.exactly(left.xaxis, measured["layer"][0])
    left.set(xlabel="$g$ or $s$", title="without inputs", ylim=(-2.4, 0.8))
    for (gain, curve), line, mark in zip(shares.items(), ("--", "-.", "-"), "o^s", strict=True):
        right.plot(*curve, color=plots.COLORS["layer"], ls=line, lw=1.4)
        on.runs(right, driven[0], driven[1][gain], mark, color=plots.COLORS["layer"], label=f"$g = {gain:g}$")
    right.set(xlabel="share $r$ of the state", title="layer norm with inputs")
    left.set_ylabel(r"exponent $\lambda$ (nats per step)")
    for ax in (left, right):
        ax.axhline(0, color=plots.INK, lw=0.8)
        ax.legend(loc="lower right")
    return fig

r"""Random recurrent networks, run and differentiated: exponents, and copies that part or meet.

$h^t = f(u^t)$ with $u^t = g\,a^t$ without a normalization and $u^t = g\,LN(a^t)$ with layer norm, where
$a^t = W h^{t-1} + x\,\xi^t$ and $\xi^t$ is fresh standard normal noise: what many independent inputs add up
to. Many networks (axis B) and settings of gain and strength of the inputs (axis S) run side by side, in
float64 and without epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from lnbook.pages.sec3_1_recurrent.mean_field import slope
from lnbook.training import torch_threads
from lnlib.rnn import LSTM
from lnlib.rnn.diagnostics import lyapunov

# Of the LSTMs: how many, their units, the steps that are run, and of these left out at the start.
LSTMS = {"smoke": (2, 32, 40, 15), "book": (2, 64, 120, 40), "study": (20, 64, 220, 70)}


def weights(count: int, H: int, generator: torch.Generator) -> Float[Tensor, "B H H"]:
    """Recurrent weights of so many networks, independent and of variance 1/H."""
    return torch.randn(count, H, H, generator=generator, dtype=torch.float64) / H**0.5


@dataclass(frozen=True)
class Networks:
    """Recurrences with weights of their own, each in several settings."""

    W: Float[Tensor, "B H H"]
    gain: Sequence[float]  # g of each setting
    strength: Sequence[float]  # x of each setting; 0 for no input
    norm: str = "layer"  # or "none"
    f: Callable[[Tensor], Tensor] = torch.tanh

    def states(self, generator: torch.Generator) -> Float[Tensor, "B S H"]:
        """Random states to start from, of unit variance."""
        B, H, _ = self.W.shape
        return torch.randn(B, len(self.gain), H, generator=generator, dtype=self.W.dtype)

    def noise(self, generator: torch.Generator) -> Float[Tensor, "B 1 H"]:
        """One step of inputs, the same for all settings of a network; zeros if no setting has inputs."""
        B, H, _ = self.W.shape
        if not any(self.strength):
            return self.W.new_zeros(B, 1, H)
        return torch.randn(B, 1, H, generator=generator, dtype=self.W.dtype)

    def step(self, h: Float[Tensor, "B S H"], noise: Float[Tensor, "B 1 H"]) -> Float[Tensor, "B S H"]:
        """The next states."""
        return self.f(self._summed(h @ self.W.mT, noise)[0])

    def push(
        self, h: Float[Tensor, "B S H"], v: Float[Tensor, "B S H"], noise: Float[Tensor, "B 1 H"]
    ) -> tuple[Float[Tensor, "B S H"], Float[Tensor, "B S H"]]:
        """The next states, and the Jacobians times the directions v."""
        a, da = (torch.cat([h, v], 1) @ self.W.mT).chunk(2, 1)
        u, std = self._summed(a, noise)
        gain = self._column(self.gain)
        if self.norm == "layer":  # d LN(a) = (da - mean - ahat mean(ahat da)) / std
            hat = u / gain
            da = (da - da.mean(-1, keepdim=True) - hat * (hat * da).mean(-1, keepdim=True)) / std
        return self.f(u), slope(self.f, u) * gain * da

    def _summed(self, a: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """What the units receive, and the standard deviation that layer norm divides by."""
        a = a + self._column(self.strength) * noise
        std = a.new_ones(())
        if self.norm == "layer":
            a = a - a.mean(-1, keepdim=True)
            std = a.square().mean(-1, keepdim=True).sqrt()
        return self._column(self.gain) * a / std, std

    def _column(self, values: Sequence[float]) -> Tensor:
        return torch.tensor(values, dtype=self.W.dtype)[:, None]


def exponents(
    networks: Networks, steps: int, skip: int, generator: torch.Generator
) -> Float[np.ndarray, "B S"]:
    """Largest Lyapunov exponents: the mean logarithmic growth of a random direction after `skip` steps."""
    h, v = networks.states(generator), networks.states(generator)
    total = torch.zeros(h.shape[:2], dtype=h.dtype)
    with torch_threads(1):
        for t in range(steps):
            h, v = networks.push(h, v, networks.noise(generator))
            growth = v.norm(dim=-1)
            v = v / growth[..., None]
            if t >= skip:
                total += growth.log()
    return (total / (steps - skip)).numpy()


def twins(
    networks: Networks, apart: float, steps: int, skip: int, generator: torch.Generator
) -> Float[np.ndarray, "T B S"]:
    """The distance between two copies with the same inputs, set apart after `skip` steps."""
    h = networks.states(generator)
    for _ in range(skip):
        h = networks.step(h, networks.noise(generator))
    path = [torch.stack([h, h + apart * networks.states(generator)])]
    for _ in range(steps):
        noise = networks.noise(generator)
        path.append(torch.stack([networks.step(h, noise) for h in path[-1]]))
    one, other = torch.stack(path, 1)
    return (other - one).square().mean(-1).sqrt().numpy()


def crossing(shares: Sequence[float], values: Float[np.ndarray, "B S"]) -> Float[np.ndarray, " B"]:
    """Where each row, measured at ascending shares, first becomes positive; by linear interpolation."""
    x = np.asarray(shares)
    if (values[:, 0] >= 0).any() or (values[:, -1] <= 0).any():
        raise ValueError("a row does not cross zero from below; measure at shares further apart")
    after = (values > 0).argmax(1)
    rows = np.arange(len(values))
    low, high = values[rows, after - 1], values[rows, after]
    return x[after - 1] - low * (x[after] - x[after - 1]) / (high - low)


def lstm_exponents(variant: str, scale: str, seed: int) -> Float[np.ndarray, "draws biases"]:
    """Largest exponents of LSTMs of `lnlib.rnn` with torch's initial weights, at forget biases of 0 and 4.

    `variant` is one of layer norm, or "none". Inputs are standard normal numbers.
    """
    draws, H, steps, skip = LSTMS[scale]
    options = {"norm": "none"} if variant == "none" else {"variant": variant}
    rows = []
    with torch_threads(1), torch.random.fork_rng():
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

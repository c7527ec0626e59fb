r"""The supplement's cells in their first updates: networks that read an image row by row, from any start.

The images come as sequences, a row of pixels a step, and the last state names the class.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lnbook.data import Images
from lnbook.data.images import Part
from lnbook.training import Minibatches, generators, torch_threads
from lnlib import rnn

GATES = {"LSTM": ("i", "f", "g", "o"), "GRU": ("r", "z", "n")}  # in torch's order
Network = rnn.RNN | rnn.LSTM | rnn.GRU
Cases = tuple[Float[Tensor, "N T D"], Int[Tensor, " N"]]


@dataclass(frozen=True)
class Run:
    """What training did: the loss of each update, how far the gains of each gate got, the test error in %."""

    loss: Float[np.ndarray, " updates"]
    moved: dict[str, float]
    error: float


def started(
    kind: type[Network],
    width: int,
    units: int,
    seed: int,
    *,
    gain: float = 1.0,
    bias: float = 0.0,
    b: float = 0.0,
    eps: float = 1e-5,
    dtype: torch.dtype = torch.float64,
) -> Network:
    """A layer-normalized network with this gain and bias everywhere, its weights drawn as torch does.

    Gain 0 and bias 1 are the supplement's alpha and beta; b is the largest size of Eq. (20)'s b.
    """
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = kind(width, units, eps=eps, dtype=dtype)
        with torch.no_grad():
            for name, value in network.named_parameters():
                if name.startswith("gain"):
                    value.fill_(gain)
                elif name.startswith("bias"):
                    value.fill_(bias)
                if b and name.startswith("bias_ih"):  # holds beta_2 + b
                    value.add_(torch.empty_like(value).uniform_(-b, b))
    return network


def learn(
    network: Network,
    train: Cases,
    test: Cases,
    *,
    seed: int,
    updates: int,
    rate: float = 0.01,
    clip: float | None = None,
) -> Run:
    """Train with Adam on the last state of each sequence; a run whose loss is not a number ends there."""
    draw, order = generators(seed)
    dtype = _value(network, "weight_hh_l0").dtype
    weight = torch.randn(10, network.hidden_size, generator=draw, dtype=dtype) / network.hidden_size**0.5
    readout = [weight.requires_grad_(), torch.zeros(10, dtype=dtype, requires_grad=True)]
    parameters = [*network.parameters(), *readout]
    optimizer = torch.optim.Adam(parameters, lr=rate)
    first, losses = _gains(network), []
    moved = dict.fromkeys(first, 0.0)
    batches = Minibatches(train, 64, order)

    def logits(x: Tensor) -> Tensor:
        return network(x.to(dtype).transpose(0, 1))[0][-1] @ readout[0].mT + readout[1]

    with torch_threads(1):
        for _ in range(updates):
            x, y = next(batches)
            loss = cross_entropy(logits(x), y)
            losses.append(float(loss.detach()))
            moved = {k: max(moved[k], float((v - first[k]).abs().max())) for k, v in _gains(network).items()}
            if not np.isfinite(losses[-1]):
                break
            optimizer.zero_grad()
            loss.backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(parameters, clip)
            optimizer.step()
        with torch.no_grad():
            wrong = (logits(test[0]).argmax(1) != test[1]).double().mean()
    return Run(np.array(losses), moved, 100 * float(wrong))


def runs(
    kind: type[Network],
    train: Cases,
    test: Cases,
    seeds: Iterable[int],
    *,
    units: int,
    start: Mapping[str, Any] | None = None,
    **options: Any,
) -> list[Run]:
    """`learn` with these options from each seed's `started` network."""
    width = train[0].shape[2]
    return [
        learn(started(kind, width, units, seed, **(start or {})), train, test, seed=seed, **options)
        for seed in seeds
    ]


def sequences(images: Images, part: Part) -> Cases:
    """The images as sequences of their rows, and their labels."""
    pixels, labels = images.flat(part)
    return torch.from_numpy(pixels).unflatten(1, (images.train_x.shape[1], -1)), torch.from_numpy(labels)


def standardized(cases: Cases, reference: Float[Tensor, "M T D"]) -> Cases:
    """The sequences less the mean of all numbers of the reference, by their standard deviation."""
    return (cases[0] - reference.mean()) / reference.std(), cases[1]


def after_blanks(cases: Cases, count: int) -> Cases:
    """The sequences with so many steps of zeros in front."""
    return nn.functional.pad(cases[0], (0, 0, count, 0)), cases[1]


def gradient_sizes(network: nn.LSTM | rnn.LSTM, x: Float[Tensor, "T D"]) -> Float[np.ndarray, " T"]:
    """The length of the gradient by each step's state, of a weighted sum of the last output."""
    zero = x.new_zeros(1, network.hidden_size)
    state, outputs = (zero, zero), []
    for row in x[:, None]:
        state = network(row, state)[1]
        outputs.append(state[0])
    loss = (outputs[-1] * torch.linspace(-1, 1, network.hidden_size, dtype=x.dtype)).sum()
    return np.array([float(gradient.norm()) for gradient in torch.autograd.grad(loss, outputs)])


def bias_gradient(network: nn.RNNBase, x: Float[Tensor, "T D"], blank: int) -> float:
    """Largest gradient of a bias by a weighted sum of the last output, with blank steps before the input."""
    network.zero_grad()
    out, _ = network(torch.cat([x.new_zeros(blank, x.shape[1]), x]))
    (out[-1] * torch.linspace(-1, 1, out.shape[1], dtype=x.dtype)).sum().backward()
    return max(
        float(v.grad.abs().max())
        for k, v in network.named_parameters()
        if k.startswith("bias") and v.grad is not None
    )


def blank_rows(x: Float[Tensor, "N T D"]) -> Int[Tensor, " N"]:
    """How many rows of zeros each sequence begins with."""
    return (x == 0).all(2).long().cumprod(1).sum(1)


def _gains(network: Network) -> dict[str, Tensor]:
    """The gains by gate, of both projections together, and the cell's."""
    names = GATES[network.mode]
    both = (_value(network, "gain_ih_l0"), _value(network, "gain_hh_l0"))
    parts = zip(names, *(gain.chunk(len(names)) for gain in both), strict=True)
    found = {name: torch.cat(pair) for name, *pair in parts}
    if network.mode == "LSTM":
        found["cell"] = _value(network, "gain_cell_l0").clone()
    return found


def _value(network: Network, name: str) -> Tensor:
    return network.get_parameter(name).detach()

"""Recurrent networks read images row by row: their first updates from any start, all variants in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lnbook.data import Images
from lnbook.data.images import Part
from lnbook.figures import plots
from lnbook.pages.appendix_cells.variants import as_variant
from lnbook.training import Minibatches, fit, generators, sweep, torch_threads
from lnlib import rnn

# Of the training of all variants: seeds, hidden units, batch size, updates.
SIZES = {"smoke": (2, 16, 16, 20), "book": (2, 32, 32, 40), "study": (10, 32, 32, 150)}
Network = rnn.RNN | rnn.LSTM | rnn.GRU
Kind = type[rnn.RNN] | type[rnn.LSTM] | type[rnn.GRU]
Start = Mapping[str, Any]  # options of `started`
Arrays = tuple[np.ndarray, ...]
Cases = tuple[Float[Tensor, "N T D"], Int[Tensor, " N"]]


def started(
    kind: Kind, seed: int, *sizes: int, gain: float = 1.0, bias: float = 0.0, b: float = 0.0, **options: Any
) -> Network:
    """A layer-normalized network with torch's weights, this gain and bias, and Eq. (20)'s b from (-b, b)."""
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed)
        network = kind(*sizes, **({"dtype": torch.float64} | options))
        for name, value in network.named_parameters():
            if not name.startswith("weight"):
                value.fill_(gain if name.startswith("gain") else bias)
            if b and name.startswith("bias_ih"):  # holds beta_2 + b
                value.add_(torch.empty_like(value).uniform_(-b, b))
    return network


def learn(
    train: Cases, test: Cases, seed: int, units: int, updates: int, start: Start, rate: float, clip: float
) -> tuple[list[float], dict[str, float], float]:
    """Train a `started` LSTM with Adam on each sequence's last state, until its loss is no number.

    The loss of each update, how far the gains of each gate and of the cell got, and the test error in %.
    """
    lstm = started(rnn.LSTM, seed, train[0].shape[2], units, **start)
    draw, order = generators(seed)
    p, losses = lstm.cells()[0].p, []
    dtype = p["weight_hh"].dtype
    weight = torch.randn(10, units, generator=draw, dtype=dtype) / units**0.5
    offset = torch.zeros(10, dtype=dtype, requires_grad=True)
    parameters = [*lstm.parameters(), weight.requires_grad_(), offset]
    optimizer = torch.optim.Adam(parameters, lr=rate)
    moved = dict.fromkeys(("i", "f", "g", "o", "cell"), 0.0)
    batches = Minibatches(train, 64, order)

    def logits(x: Tensor) -> Tensor:
        return lstm(x.to(dtype).transpose(0, 1))[0][-1] @ weight.mT + offset

    with torch_threads(1):
        for _ in range(updates):
            x, y = next(batches)
            loss = cross_entropy(logits(x), y)
            losses.append(loss.item())
            gates = torch.stack([p["gain_ih"], p["gain_hh"]]).chunk(4, 1)  # of both projections together
            for name, gains in zip(moved, (*gates, p["gain_cell"]), strict=True):
                away = float((gains.detach() - start.get("gain", 1.0)).abs().max())
                moved[name] = max(moved[name], away)
            if not np.isfinite(losses[-1]):
                break
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, clip)
            optimizer.step()
        with torch.no_grad():
            wrong = (logits(test[0]).argmax(1) != test[1]).double().mean()
    return losses, moved, 100 * float(wrong)


def sequences(images: Images, part: Part) -> Cases:
    """The images as sequences of their rows, and their labels."""
    pixels, labels = images.flat(part)
    return torch.from_numpy(pixels).unflatten(1, (images.train_x.shape[1], -1)), torch.from_numpy(labels)


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
    out, _ = network(nn.functional.pad(x, (0, 0, blank, 0)))
    loss = (out[-1] * torch.linspace(-1, 1, out.shape[1], dtype=x.dtype)).sum()
    biases = [value for name, value in network.named_parameters() if name.startswith("bias")]
    return max(float(gradient.abs().max()) for gradient in torch.autograd.grad(loss, biases))


class Reader(nn.Module):
    """An LSTM and a linear map of its last h; weights do not depend on the variant, forget bias 1."""

    def __init__(self, inputs: int, units: int, variant: str, generator: torch.Generator) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            self.lstm, self.out = rnn.LSTM(inputs, units, variant=variant), nn.Linear(units, 10)
        with torch.no_grad():
            for name, p in self.named_parameters():
                if "weight" in name:
                    p.copy_((2 * torch.rand(p.shape, generator=generator) - 1) / units**0.5)
                elif "bias" in name:
                    p.zero_()
            self.lstm.get_parameter("bias_hh_l0")[units : 2 * units] = 1

    def forward(self, x: Float[Tensor, "N T D"]) -> Float[Tensor, "N 10"]:
        return self.out(self.lstm(x.transpose(0, 1))[1][0][-1])

    @torch.no_grad()
    def error(self, x: Float[Tensor, "N T D"], y: Int[Tensor, " N"]) -> float:
        """Percentage of wrong answers."""
        return 100 * float((self(x).argmax(1) != y).float().mean())


def pictures(images: Images) -> Arrays:
    """Training and test pictures, at most 20,000 and 1,000, less the mean pixel and over its deviation."""
    every = max(1, len(images.test_x) // 1000)
    x, test = images.train_x[:20_000], images.test_x[::every]
    mean, std = np.float32(x.mean()), np.float32(x.std())
    x, test = ((part.astype(np.float32) - mean) / std for part in (x, test))
    return x, images.train_y[: len(x)], test, images.test_y[::every]


def read(arrays: Arrays, *, variant: str, rate: float, seed: int, scale: str) -> tuple[float, Reader]:
    """A variant trained to read pictures: its test error in %, and the reader."""
    _, units, batch, updates = SIZES[scale]
    x, y, *test = map(torch.from_numpy, arrays)
    weights, order = generators(seed)
    reader = Reader(x.shape[2], units, variant, weights)
    optimizer = torch.optim.Adam(reader.parameters(), lr=rate)
    fit(reader, Minibatches((x, y), batch, order), cross_entropy, optimizer, updates=updates, every=updates)
    return reader.error(*test), reader


def readers(
    jobs: Sequence[tuple[str, float]], seed: int, scale: str, arrays: Arrays
) -> dict[tuple[str, float], list[tuple[float, Reader]]]:
    """`read` for each variant and rate, from this seed on; in this process without time to compile."""
    seeds = range(seed, seed + SIZES[scale][0])
    asked = [{"variant": v, "rate": rate, "seed": s, "scale": scale} for v, rate in jobs for s in seeds]
    with rnn.plain():
        found = iter(sweep(read, asked, common=(arrays,), processes=None if scale == "study" else 1))
    return {job: [next(found) for _ in seeds] for job in jobs}


def moves(
    trained: Mapping[str, Sequence[tuple[float, Reader]]], arrays: Arrays
) -> Float[np.ndarray, "seeds variants variants"]:
    """Test errors (%) of each variant's trained readers, with their weights in each of these variants."""
    x, y = map(torch.from_numpy, arrays[2:])

    def errors(reader: Reader) -> list[float]:
        found, own = [], reader.lstm
        for variant in trained:
            reader.lstm = as_variant(own, variant)
            found.append(reader.error(x, y))
        reader.lstm = own
        return found

    with rnn.plain():
        return np.array([[errors(reader) for _, reader in many] for many in trained.values()]).swapaxes(0, 1)


def timeline(
    picture: Float[np.ndarray, "T D"], blank: int, sizes: Mapping[str, Float[np.ndarray, " T"]]
) -> Figure:
    """The rows of a picture in the order in which they are read; below, the gradient at each step."""
    fig, (top, ax) = plots.subplots(2, 1, sharex=True, height_ratios=(1, 3))
    top.imshow(picture.T, cmap=plots.AMOUNT, aspect="auto", extent=(0.5, len(picture) + 0.5, 0, 1))
    top.set(yticks=[], ylabel="input")
    top.grid(visible=False)
    top.tick_params(length=0)
    top.text((blank + 1) / 2, 0.5, "blank steps", ha="center", va="center")
    steps, layer, none = np.arange(1, len(picture) + 1), plots.COLORS["layer"], plots.COLORS["none"]
    looks = (layer, "-", 3, "left"), (layer, "--", 6, "right"), (none, "-", 3, "left")
    for (name, values), (color, dashes, step, side) in zip(sizes.items(), looks, strict=True):
        ax.semilogy(steps, values, dashes, marker="o", ms=3, color=color)
        away = (8, 4) if side == "left" else (-6, -14)
        ax.annotate(name, (step, values[step - 1]), away, textcoords="offset points", ha=side, color=color)
    limits = {"largest float32": np.finfo(np.float32).max, "its root: Adam squares gradients": 1.8e19}
    for name, height in limits.items():
        ax.axhline(height, color=plots.INK, lw=1, ls=":")
        ax.text(len(picture) + 0.4, height, name, ha="right", va="bottom", fontsize=10)
    ax.axvspan(0.5, blank + 0.5, color=plots.INK, alpha=0.06, lw=0)
    ax.set(xlim=(0.5, len(picture) + 0.5), ylim=(1e-8, 1e50), xlabel="step", ylabel="size of gradient")
    ax.set(xticks=steps[1::2], yticks=10.0 ** np.arange(0, 50, 10))
    return fig

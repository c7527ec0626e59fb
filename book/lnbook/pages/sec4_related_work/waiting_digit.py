r"""Section 4, measured: the digit that one has to wait for, by LSTMs normalized in several ways.

A page is blank; at a random step a digit begins to pass by, a row of pixels a step; after the last step the
network names it. The task is the same at any length, and a step's inputs have much the same distribution
whichever step it is, so that statistics of one step can stand in for those of another.

The methods of Section 4 differ in what a mean and a standard deviation are taken over, and in whether the
state's projection and the cell are normalized too (`OVER`). Formulas as in `lnlib.rnn.LSTM`, to which the
tests hold them equal. Different here: S networks, one a start gain and seed, compute at once, as one axis of
every tensor; and batch norm's statistics for test time are exact, those of a whole training set.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.data import Images
from lnbook.figures import plots
from lnbook.training import generators, sweep
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import layer_norm

SIZES = {"smoke": (16, 8, 30), "book": (16, 16, 120), "study": (32, 16, 300)}  # steps, units, updates
EPS = 1e-5
Arrays = tuple[np.ndarray, ...]
Start = tuple[str, float]  # a method, and a gain
Errors = Float[np.ndarray, "3 seeds"]
Statistics = Mapping[str, tuple[Tensor, Tensor]]  # by place: means and variances, (T or 1, S, 1, units)
# What statistics of a method are over. "input" methods leave the state's projection and the cell as they are.
OVER = {
    "none": "nothing",
    "layer": "units",
    "batch": "cases",  # Cooijmans et al. (2016)
    "input, by step": "cases",  # Laurent et al. (2015), "frame-wise"
    "input, by sequence": "cases and steps",  # the same, "sequence-wise"; Amodei et al.
}


class Stack:
    """S LSTMs with linear maps to 10 classes, one a gain and seed; those of a seed start alike."""

    def __init__(self, method: str, units: int, gains: Sequence[float], seeds: Sequence[int]) -> None:
        self.over, self.units, self.size = OVER[method], units, len(gains) * len(seeds)
        sizes = {"weight_ih": (4 * units, 8), "weight_hh": (4 * units, units), "readout": (10, units)}
        initial, self.p = [generators(seed)[0] for seed in seeds], {}
        for name, size in sizes.items():
            parts = [(2 * torch.rand(size, generator=g) - 1) / units**0.5 for g in initial]
            self.p[name] = torch.stack(parts).repeat(len(gains), 1, 1)
        start = torch.tensor(gains).repeat_interleave(len(seeds)).view(-1, 1, 1)
        self.p |= {"bias": torch.zeros(self.size, 1, 4 * units), "offset": torch.zeros(self.size, 1, 10)}
        if method != "none":
            self.p["gain_ih"] = start.repeat(1, 1, 4 * units)
            if "input" not in method:
                self.p |= {"gain_hh": start.repeat(1, 1, 4 * units), "gain_cell": start.repeat(1, 1, units)}
                self.p["bias_cell"] = torch.zeros(self.size, 1, units)
        self.p = {name: value.requires_grad_() for name, value in self.p.items()}

    def __call__(
        self, x: Tensor, stored: Statistics | None = None, record: dict[str, list[Any]] | None = None
    ) -> tuple[list[Float[Tensor, "S N H"]], Float[Tensor, "S N 10"]]:
        """From x (T, S, N, D), h after each step, and logits after the last.

        Batch norm is by the batch's statistics, which are appended to `record`, by place; or by stored ones.
        """
        p, over = self.p, self.over

        def place(name: str, a: Float[Tensor, "*T S N G"], t: int | None = None) -> Float[Tensor, "*T S N G"]:
            """Normalize here if the method does, and apply the gain."""
            gain = p.get(f"gain_{name}")
            if gain is None:
                return a
            if over == "units":
                return gain * layer_norm(a, eps=EPS)
            if stored is not None:
                steps = torch.arange(len(a)) if t is None else torch.tensor(t)
                mean, var = (v[steps.clamp(max=len(v) - 1)] for v in stored[name])
                return gain * (a - mean) / (var + EPS).sqrt()
            axis = 1 if over == "cases and steps" else 0  # the steps are further cases
            if record is not None:
                all_steps = a if t is None else a[None]
                var, mean = torch.var_mean(all_steps, (0, -2) if axis else -2, correction=0, keepdim=True)
                record.setdefault(name, []).append((mean, var))
            moved = a.movedim(-2, axis)
            rows = moved.flatten(0, axis)  # of cases; all other axes count as units
            every = gain.squeeze(1).expand_as(rows[0]).flatten()
            return batch_norm(rows.flatten(1), every, eps=EPS).view_as(moved).movedim(axis, -2)

        projected = place("ih", x @ p["weight_ih"].mT) + p["bias"]
        h = c = x.new_zeros(*x.shape[1:3], self.units)
        states = []
        for t, a in enumerate(projected):
            gates = a + place("hh", h @ p["weight_hh"].mT, t)
            i, f, _, o = torch.sigmoid(gates).chunk(4, -1)  # one call, and one quarter too many, is faster
            c = f * c + i * torch.tanh(gates[..., 2 * self.units : 3 * self.units])
            h = o * torch.tanh(place("cell", c, t) + p.get("bias_cell", 0))
            states.append(h)
        return states, h @ p["readout"].mT + p["offset"]

    @torch.no_grad()
    def population(self, x: Float[Tensor, "T N D"]) -> Statistics:
        """Batch norm's statistics over these cases, at each step, each place normalized by them in turn."""
        record: dict[str, list[Any]] = {}
        self(x.unsqueeze(1).expand(-1, self.size, -1, -1), record=record)
        return {name: tuple(map(torch.cat, zip(*pairs, strict=True))) for name, pairs in record.items()}  # type: ignore[misc]


def pool(stored: Statistics) -> Statistics:
    """At each place one mean and variance for all steps: those of all cases and steps together."""
    return {
        name: (mean.mean(0, keepdim=True), (var + mean.var(0, correction=0)).mean(0, keepdim=True))
        for name, (mean, var) in stored.items()
    }


def pixels(images: Images) -> Arrays:
    """Training and test cases; pixels with mean 0 and standard deviation 1 over all of the training set."""
    mean, std = images.train_x.mean(), images.train_x.std()
    train_x, test_x = (((x - mean) / std).astype(np.float32) for x in (images.train_x, images.test_x))
    return train_x, images.train_y, test_x, images.test_y


def waiting(
    images: Float[Tensor, "N rows columns"], steps: int, generator: torch.Generator
) -> Float[Tensor, "T N D"]:
    """The inputs: the rows of each image from a random step on; elsewhere the least value of all."""
    cases, rows, columns = images.shape
    x = images.amin().expand(steps, cases, columns).clone()
    begin = torch.randint(steps - rows + 1, (cases,), generator=generator)
    x[begin + torch.arange(rows).unsqueeze(1), torch.arange(cases)] = images.transpose(0, 1)
    return x


def compare(arrays: Arrays, scale: str, seeds: Sequence[int]) -> dict[Start, Errors]:
    """`train` each norm, batch and layer norm from two gains each; by method and gain."""
    gains = {method: [1.0] if "input" in method else [0.1, 1.0] for method in OVER if method != "none"}
    jobs = [{"method": m, "gains": g, "seeds": list(seeds), "scale": scale} for m, g in gains.items()]
    found = sweep(train, jobs, common=(arrays,), processes=None if scale == "study" else 1)
    return {pair: errors for one in found for pair, errors in one.items()}


def train(
    arrays: Arrays, *, method: str, gains: Sequence[float], seeds: Sequence[int], scale: str
) -> dict[Start, Errors]:
    """Train from all gains and seeds by Adam at 0.01, gradients clipped at norm 1; test errors in percent.

    For each gain: at once and twice the trained length, and at once with batch norm's stored statistics of
    all steps pooled, NaN for other methods. Networks of one seed see the same batches of 32 cases.
    """
    steps, units, updates = SIZES[scale]
    X, Y, test_x, test_y = map(torch.from_numpy, arrays)
    order = [generators(seed)[1] for seed in seeds]
    stack = Stack(method, units, gains, seeds)
    optimizer = torch.optim.Adam(stack.p.values(), 0.01, fused=True)
    for _ in range(updates):
        chosen = [torch.randint(len(X), (32,), generator=g) for g in order]
        x = torch.stack([waiting(X[c], steps, g) for c, g in zip(chosen, order, strict=True)], 1)
        y = Y[torch.stack(chosen)].repeat(len(gains), 1)
        logits = stack(x.repeat(1, len(gains), 1, 1))[1]
        each = cross_entropy(logits.movedim(-1, 1), y, reduction="none").mean(1)
        optimizer.zero_grad()
        each.sum().backward()
        gradients = [p.grad for p in stack.p.values() if p.grad is not None]  # (S, _, _) each
        norm = torch.stack([g.flatten(1).square().sum(1) for g in gradients]).sum(0).sqrt()
        for g in gradients:
            g *= (1 / norm).clamp(max=1.0).view(-1, 1, 1)
        optimizer.step()

    @torch.no_grad()
    def error(length: int, statistics: Statistics | None) -> Float[np.ndarray, "gains seeds"]:
        shown = waiting(test_x, length, torch.Generator().manual_seed(length)).unsqueeze(1)
        answers = stack(shown.expand(-1, stack.size, -1, -1), statistics)[1].argmax(-1)
        return (100 * (answers != test_y).float().mean(1)).view(len(gains), -1).numpy()

    stored = stack.population(waiting(X, steps, order[0])) if stack.over.startswith("cases") else None
    once, twice = error(steps, stored), error(2 * steps, stored)
    pooled = error(steps, pool(stored)) if stored else np.full_like(once, np.nan)
    return {(method, gain): np.stack(rows) for gain, *rows in zip(gains, once, twice, pooled, strict=True)}


def first_gradients(
    arrays: Arrays, method: str, gain: float, scale: str, seeds: Sequence[int]
) -> Float[Tensor, "S T"]:
    r"""At the start, $\lVert\partial L/\partial h^{T-k}\rVert$ over the same at k = 0, for each k."""
    X, Y, *_ = map(torch.from_numpy, arrays)
    steps, units, _ = SIZES[scale]
    stack = Stack(method, units, [gain], seeds)
    x = waiting(X[:128], steps, torch.Generator().manual_seed(seeds[0])).unsqueeze(1)
    states, logits = stack(x.expand(-1, stack.size, -1, -1))
    loss = cross_entropy(logits.flatten(0, 1), Y[:128].repeat(stack.size))
    norms = torch.stack([d.flatten(1).norm(dim=1) for d in torch.autograd.grad(loss, states)], 1).flip(1)
    return norms / norms[:, :1]


def going_back(lag: Mapping[Start, Float[np.ndarray, " T"]]) -> Figure:
    """Gradients at the start against lag, by method and gain."""
    fig, ax = plots.subplots(figsize=(5.6, 2.8))
    for (method, gain), values in lag.items():
        style = {"color": plots.COLORS[method], "ls": "-" if gain == 1 else "--"}
        ax.semilogy(values, label=f"{method}, {gain:g}" if method != "none" else "none", **style)
    ax.axhline(1, color=plots.INK, lw=0.8)
    ax.set(xlabel="steps back", ylabel="gradient", ylim=(1e-7, 1e9))
    ax.legend(loc="upper left", ncol=2)
    return fig

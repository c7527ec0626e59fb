r"""Networks whose hidden weights have an invisible length: how they turn and grow.

`train`: many small networks at once, their hidden layers of layer norm without epsilon and relu, and a
readout that stays as it was drawn. AdamW, that is, Adam with decoupled decay:
$m \leftarrow \beta_1m+(1-\beta_1)G$, $v\leftarrow\beta_2v+(1-\beta_2)G^2$,
$W \leftarrow (1-\eta\lambda)W-\eta\,\hat m/\sqrt{\hat v}$.

`descend`, for Section 5.2.2: one hidden layer, its weights W normalized. Plain stochastic gradient descent,
with or without weight decay on W: $W \leftarrow (1 - \lambda\rho)W - \rho\,\nabla L$ at learning rate $\rho$
and decay $\lambda$.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook import data
from lnbook.training import generators, torch_threads
from lnlib.norms import layer_norm

LAYERS = (64, 32, 32)  # units of the hidden layers
BETA2, EPS = 0.99, 1e-8  # of Adam; 0.99 forgets the start within the runs
READOUT = 3.0  # scale of the readout: at 1 no weights fit random labels
CLASSES = 10
BATCH = 32  # cases of an update
REST = 0.1  # learning rate of all parameters but W in `descend`
Cases = tuple[Float[Tensor, "N D"], Int64[Tensor, " N"]]  # labels 0 to 9


class Setting(NamedTuple):
    r"""One run: its seed, rate $\eta$, decay $\lambda$ and momentum $\beta_1$."""

    seed: int
    rate: float
    decay: float = 0.0
    momentum: float = 0.0
    held: bool = False  # each layer is brought back to its first length after every update


class Walk(NamedTuple):
    """What the runs did."""

    loss: Float[Tensor, "R T"]  # before each update
    length: Float[Tensor, "R T L"]  # of each layer, after it
    turn: Float[Tensor, "R L"]  # root mean square of the tangents of its angles, in the run's second half


def digits(cases: int) -> Cases:
    """The first training digits of scikit-learn less their mean, without the pixels that are blank in all."""
    x, y = (torch.from_numpy(part[:cases]) for part in data.load("digits").flat("train"))
    x = x[:, x.amax(0) > 0].float()
    return x - x.mean(0), y


def begin(
    seeds: Sequence[int], inputs: int, layers: Sequence[int] = LAYERS, dtype: torch.dtype = torch.float32
) -> tuple[list[Float[Tensor, "R H D"]], Float[Tensor, "R 10 H"]]:
    """The weights of each hidden layer, and a readout that is not trained, of a network for each seed."""
    drawn = []
    for seed in seeds:
        initial, pairs = generators(seed)[0], pairwise((inputs, *layers, CLASSES))
        drawn.append([torch.randn(H, D, generator=initial) / D**0.5 for D, H in pairs])
    *weights, readout = (torch.stack(parts).to(dtype) for parts in zip(*drawn, strict=True))
    return weights, READOUT * readout


def slopes(
    weights: Sequence[Tensor], readout: Tensor, x: Float[Tensor, "R N D"], y: Int64[Tensor, "R N"]
) -> tuple[Float[Tensor, " R"], list[Float[Tensor, "R _ _"]]]:
    """Each network's mean cross-entropy and its gradient for each layer."""
    weights = [W.detach().requires_grad_() for W in weights]
    for W in weights:
        x = torch.relu(layer_norm(x @ W.mT, eps=0.0))
    losses = cross_entropy((x @ readout.mT).mT, y, reduction="none").mean(1)
    return losses.detach(), list(torch.autograd.grad(losses.sum(), weights))


def seen(W: Float[Tensor, "*R H D"]) -> Float[Tensor, "*R H D"]:
    """What layer norm sees of the weights: all but the mean row."""
    return W - W.mean(-2, keepdim=True)


def length(W: Float[Tensor, "*R H D"]) -> Float[Tensor, "*R 1 1"]:
    """Each matrix's Frobenius norm."""
    return torch.linalg.vector_norm(W, dim=(-2, -1), keepdim=True)


def angles(one: Float[Tensor, "*R H D"], two: Float[Tensor, "*R H D"]) -> Float[Tensor, "*R 1 1"]:
    """Angles between two arrays, by the half angle: accurate for small ones."""
    u, v = one / length(one), two / length(two)
    return 2 * torch.atan2(length(u - v), length(u + v))


def polar(G: Float[Tensor, "*R H D"]) -> Float[Tensor, "*R H D"]:
    r"""$UV^\top$ of the gradient $U\Sigma V^\top$: its singular values above rounding all set to 1."""
    U, s, Vh = torch.linalg.svd(G, full_matrices=False)
    kept = s > 1e-5 * s[..., :1]
    return (U * kept[..., None, :].to(U)) @ Vh


def train(
    settings: Sequence[Setting],
    x: Float[Tensor, "N D"],
    labels: Int64[Tensor, "S M"],
    updates: int,
    layers: Sequence[int] = LAYERS,
    *,
    orthogonal: bool = False,
) -> Walk:
    """Train every setting on one task after the other, each with so many updates and a row of the labels.

    `orthogonal` makes Muon's steps, without momentum: the gradient's `polar` part.
    """
    weights, readout = begin([s.seed for s in settings], x.shape[1], layers)
    order = {s.seed: generators(s.seed)[1] for s in settings}
    fields = torch.tensor([[float(value) for value in field] for field in zip(*settings, strict=True)])
    _, rate, decay, momentum, held = fields[:, :, None, None]
    visible = [seen(W) for W in weights]
    first = [length(W) for W in visible]
    m, v = ([torch.zeros_like(W) for W in weights] for _ in range(2))
    losses, lengths, turns, whole = [], [], [], len(labels) * updates
    with torch_threads(1), torch.no_grad():
        for t in range(whole):
            drawn = {seed: torch.randint(len(x), (BATCH,), generator=g) for seed, g in order.items()}
            cases = torch.stack([drawn[s.seed] for s in settings])
            with torch.enable_grad():
                loss, gradients = slopes(weights, readout, x[cases], labels[t // updates][cases])
            before = list(visible)
            for k, (W, G) in enumerate(zip(weights, gradients, strict=True)):
                m[k].mul_(momentum).add_((1 - momentum) * G)
                v[k].mul_(BETA2).addcmul_(G, G, value=1 - BETA2)
                adam = m[k] / (1 - momentum ** (t + 1)) / ((v[k] / (1 - BETA2 ** (t + 1))).sqrt() + EPS)
                step = polar(G) if orthogonal else adam
                W.mul_(1 - rate * decay).sub_(rate * step)
                if held.any():
                    W.mul_(torch.where(held > 0, first[k] / length(seen(W)), 1))
                visible[k] = seen(W)
            losses.append(loss)
            lengths.append(torch.stack([length(W).flatten() for W in visible], 1))
            if t >= whole // 2:
                turned = [angles(*pair).flatten().tan() for pair in zip(before, visible, strict=True)]
                turns.append(torch.stack(turned, 1).double())
    turn = torch.stack(turns, 1).square().mean(1).sqrt()
    return Walk(torch.stack(losses, 1).double(), torch.stack(lengths, 1).double(), turn)


class Descent(NamedTuple):
    """What one run's hidden weights did, update by update."""

    length: Float[np.ndarray, " updates"]  # norm of what the model sees of W, before each update
    gradient: Float[np.ndarray, " updates"]  # norm of W's gradient
    angle: Float[np.ndarray, " updates"]  # by which the update turned W, in radians
    loss: Float[np.ndarray, " updates"]  # of the mini-batch


def descend(
    cases: Cases,
    seed: int,
    rate: float,
    updates: int,
    decay: float = 0.0,
    scale: float = 1.0,
    held: float = 0.0,
) -> Descent:
    """Train with layer norm from weights of one seed, times `scale`, or `held` at a length; 0 is free."""
    x, y = cases
    initial, order = generators(seed)
    H, D = 100, x.shape[1]
    W = scale * torch.randn(H, D, generator=initial) / D**0.5
    V = torch.randn(10, H, generator=initial) / H**0.5
    if held:
        W *= held / length(seen(W))
    parameters = [p.requires_grad_() for p in (W, torch.ones(H), torch.zeros(H), V, torch.zeros(10))]
    W, g, b, V, c = parameters
    rows = []
    with torch_threads(1):  # so small a network gains nothing from more, and its numbers would depend on it
        for _ in range(updates):
            drawn = torch.randint(len(x), (64,), generator=order)
            hidden = torch.relu(layer_norm(x[drawn] @ W.T, g, eps=0.0) + b)
            loss = cross_entropy(hidden @ V.T + c, y[drawn])
            gradients = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                before = seen(W)
                W *= 1 - rate * decay
                for p, gradient in zip(parameters, gradients, strict=True):
                    p -= (rate if p is W else REST) * gradient
                if held:
                    W *= held / length(seen(W))
                found = length(before), gradients[0].norm(), angles(before, seen(W)), loss
            rows.append([value.item() for value in found])
    return Descent(*np.array(rows).T)


def brakes(
    cases: Cases, rates: Sequence[float], seeds: Sequence[int], updates: int
) -> dict[str, list[list[Descent]]]:
    """Runs by learning rate and seed: W's length free, or held where it begins or ends."""
    found: dict[str, list[list[Descent]]] = {"free": [], "held: first length": [], "held: last length": []}
    for rate in rates:
        run = partial(descend, cases, rate=rate, updates=updates)
        ends = [run(seed) for seed in seeds]
        found["free"].append(ends)
        for way, end in (("held: first length", 0), ("held: last length", -1)):
            walks = zip(seeds, ends, strict=True)
            found[way].append([run(seed, held=float(walk.length[end])) for seed, walk in walks])
    return found


def last_losses(walks: Sequence[Sequence[Descent]]) -> Float[np.ndarray, "seeds rates"]:
    """Mean loss of each run's last 50 updates, by rate and seed; one that diverged counts as guessing."""
    losses = np.array([[walk.loss[-50:].mean() for walk in runs] for runs in walks]).T
    return np.fmin(losses, np.log(10))


def first_gradient(cases: Cases, seed: int, norm: float) -> tuple[Float[Tensor, "H D"], Float[Tensor, "H D"]]:
    """Random weights in front of layer norm, of a given length, in float64, and the loss's gradient there."""
    x, y = cases[0].double(), cases[1]
    draw = torch.Generator().manual_seed(seed)
    W = torch.randn(100, x.shape[1], generator=draw, dtype=torch.float64)
    W = norm * W / W.norm()
    V = torch.randn(10, 100, generator=draw, dtype=torch.float64) / 10
    _, (G,) = slopes([W[None]], V[None], x[None], y[None])
    return W, G[0]

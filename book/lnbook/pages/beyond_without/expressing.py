r"""What a norm lets a network express: keys that a query can prefer, and any labels of any points.

`largest_logits` trains one layer that is asked for the value $v=\pm1$ of one of n keys x: its prediction is
$\sum_i p_i v_i$, $p = \mathrm{softmax}(q^\top k_i/\sqrt d)$ with $q = W_Qx$, $k_i = W_Kx_i$. QK-norm puts a
layer norm with a gain on both. The loss is the mean squared error. *Source* ours; Brody and others (2023)
for unselectable keys, Dehghani and others (2023) for logits that grow without QK-norm.

`construct` makes a network of linear maps and layer norms of three units that gives any points any labels.
Layer norm of three units is a projection onto the plane at right angles to $\mathbf 1$, and a division by the
length there: after a linear map it takes a point of that plane to its direction. The direction of $p-o$,
with o outside the circle on the line through two points of it, is the same for both, and another for every
other point in general position. So one linear map and one layer norm merge two points of one label.
*Source* ours; that O(m) layers of three units do is Ni and others (2024).
"""

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.optimize import linprog
from torch import Tensor
from torch.func import grad, vmap

from lnlib.norms import layer_norm

PAIRS, WIDTH, CASES = 8, 16, 64  # keys to choose from, units of a key, cases in a mini-batch
#: Orthonormal columns that span the plane at right angles to (1, 1, 1).
PLANE = torch.tensor([[1, 1], [-1, 1], [0, -2]]) / torch.tensor([2, 6], dtype=torch.float64).sqrt()
_E = PLANE.numpy()
# How far outside the circle a merge may look from, in distances of the two points.
DISTANCES = np.geomspace(0.02, 50, 18)

Layer = tuple[Float[Tensor, "3 _"], Float[Tensor, " 3"]]  # W and b of a linear map; its layer norm follows


def unselectable(keys: Float[np.ndarray | Tensor, "n d"]) -> int:
    """How many keys lie in the convex hull of the others, so that no query prefers them.

    >>> unselectable(np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]]))
    1
    """
    inside = 0
    for i, key in enumerate(keys):
        others = np.delete(keys, i, axis=0)
        weights = np.vstack([others.T, np.ones(len(others))])
        found = linprog(np.zeros(len(others)), A_eq=weights, b_eq=[*key, 1.0])
        inside += {0: 1, 2: 0}[found.status]  # weights found, or there are none
    return inside


def largest_logits(
    rates: Sequence[float], seeds: Sequence[int], updates: int, *, norm: bool
) -> Float[np.ndarray, "rates seeds"]:
    """The largest logit in size of the last mini-batch, for every step size and seed."""
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]

    def draw(*shape: int) -> Tensor:
        each = [torch.randn(*shape, generator=g) for g in generators]
        return torch.stack(each).repeat(len(rates), *[1] * len(shape))

    def loss(parameters: list[Tensor], x: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Of one model, and its largest logit; the first key of each case is asked for."""
        query, key, *gains = parameters
        q, k = x[:, 0] @ query.mT, x @ key.mT
        if norm:
            q, k = (layer_norm(a, gain, eps=0.0) for a, gain in zip((q, k), gains, strict=True))
        logits = (k @ q[:, :, None])[..., 0] / WIDTH**0.5
        answers = (logits.softmax(-1) * values).sum(-1)
        return (answers - values[:, 0]).square().mean(), logits.abs().max()

    parameters = [draw(WIDTH, WIDTH) / WIDTH**0.5 for _ in range(2)]
    parameters += [torch.ones(len(rates) * len(seeds), WIDTH) for _ in range(2)]
    steps = torch.tensor(rates).repeat_interleave(len(seeds))
    slopes = vmap(grad(loss, has_aux=True))
    for _ in range(updates):
        gradients, largest = slopes(parameters, draw(CASES, PAIRS, WIDTH), draw(CASES, PAIRS).sign())
        for p, gradient in zip(parameters, gradients, strict=True):
            p.sub_(steps.view(-1, *[1] * (p.ndim - 1)) * gradient)
    return largest.view(len(rates), len(seeds)).numpy()


def states(layers: Sequence[Layer], x: Float[Tensor, "N D"]) -> list[Float[Tensor, "N 3"]]:
    """What each layer norm puts out for the cases x; epsilon is 0."""
    found = []
    for weight, bias in layers:
        x = layer_norm(x @ weight.T + bias, eps=0.0)
        found.append(x)
    return found


def labelings(most: int) -> Iterator[tuple[Float[Tensor, "m 1"], Int[Tensor, " m"]]]:
    """Two to `most` points of a line, with every labeling by one or two labels; those used count from 0.

    >>> [labels.tolist() for _, labels in labelings(2)]
    [[0, 0], [0, 1], [1, 0], [0, 0]]
    """
    for m in range(2, most + 1):
        line = torch.linspace(-1, 1, m, dtype=torch.float64)[:, None]
        for labels in product((0, 1), repeat=m):
            yield line, torch.tensor(labels).unique(return_inverse=True)[1]


def construct(
    x: Float[Tensor, "m 1"], labels: Int[Tensor, " m"]
) -> tuple[list[Layer], Float[Tensor, "labels 3"]]:
    r"""The $m - K + 1$ layers that give m points their labels, each of 0 to K - 1 used, and the readout.

    >>> x = torch.linspace(-1, 1, 5, dtype=torch.float64)[:, None]
    >>> layers, readout = construct(x, torch.tensor([0, 1, 2, 1, 0]))
    >>> (states(layers, x)[-1] @ readout.T).argmax(1).tolist(), len(layers)
    ([0, 1, 2, 1, 0], 3)
    """
    layers = [(PLANE[:, :1], PLANE[:, 1])]  # to the direction of (x, 1)
    left, kinds = np.arange(len(labels)), labels.numpy()
    while True:
        circle = states(layers, x)[-1].numpy()[left] @ _E / np.sqrt(3)
        if len(left) == kinds.max() + 1:
            return layers, torch.from_numpy(circle[np.argsort(kinds)] @ _E.T)
        gone, A, o = _merge(circle, kinds)
        W = _E @ A @ _E.T / np.sqrt(3)  # layer norm's outputs are root 3 long
        layers.append((torch.from_numpy(W), torch.from_numpy(-_E @ A @ o)))
        left, kinds = np.delete(left, gone), np.delete(kinds, gone)


def _merge(
    points: Float[np.ndarray, "n 2"], kinds: Int[np.ndarray, " n"]
) -> tuple[int, Float[np.ndarray, "2 2"], Float[np.ndarray, " 2"]]:
    """Which point goes, and A and o of the map A(p - o) that keeps the others farthest apart in angle."""
    pairs = np.nonzero((kinds == kinds[:, None]) & ~np.eye(len(kinds), dtype=bool))
    i, j = np.repeat(pairs, len(DISTANCES), axis=1)
    o = points[i] + np.resize(DISTANCES, (len(i), 1)) * (points[i] - points[j])
    far = np.linalg.norm(o, axis=1, keepdims=True)
    ahead = -o / far  # the circle is seen around its center, within a right angle of it
    aside = np.stack([-ahead[:, 1], ahead[:, 0]], 1)
    slope = (aside @ points.T) / (ahead @ points.T + far)
    stretch = 1 / np.sqrt((slope**2).mean(1))  # spread what is seen, however far away
    angles = np.arctan(stretch[:, None] * slope)
    angles[np.arange(len(j)), j] = np.inf
    ordered = np.sort(angles, axis=1)[:, :-1]
    best = int(np.diff(ordered, axis=1).min(1, initial=np.inf).argmax())
    return int(j[best]), np.stack([stretch[best] * aside[best], ahead[best]]), o[best]

r"""A network of linear maps and layer norms of three units that gives any points any labels.

Layer norm of three units is a projection onto the plane at right angles to $\mathbf 1$, and a division by the
length there: after a linear map it takes a point of that plane to its direction. The direction of $p-o$,
with o outside the circle on the line through two points of it, is the same for both, and another for every
other point in general position. So one linear map and one layer norm merge two points of one label.
After as many merges as there are points too many, each label is one point of a circle, which a linear
readout prefers to all others. *Source* ours; that O(m) layers of three units do is Ni and others (2024).
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lnlib.norms import layer_norm

#: Orthonormal columns that span the plane at right angles to (1, 1, 1).
PLANE = torch.tensor([[1, 1], [-1, 1], [0, -2]]) / torch.tensor([2, 6], dtype=torch.float64).sqrt()
_E = PLANE.numpy()
# How far outside the circle a merge may look from, in distances of the two points.
DISTANCES = np.geomspace(0.02, 50, 18)


class Layer(NamedTuple):
    """One linear map, $Wx+b$ with W (3, D), whose layer norm follows."""

    weight: Float[Tensor, "3 D"]
    bias: Float[Tensor, " 3"]


class Network(NamedTuple):
    """Layers, and a row for each label: the label of x is that of the largest `readout @ h`."""

    layers: list[Layer]
    readout: Float[Tensor, "labels 3"]


def states(layers: Sequence[Layer], x: Float[Tensor, "N D"]) -> list[Float[Tensor, "N 3"]]:
    """What each layer norm puts out for the cases x, computed in the precision of x; epsilon is 0."""
    found = []
    for layer in layers:
        x = layer_norm(x @ layer.weight.to(x.dtype).T + layer.bias.to(x.dtype), eps=0.0)
        found.append(x)
    return found


def labels_of(x: Float[Tensor, "N D"], network: Network) -> Int[Tensor, " N"]:
    """The label of each case that the readout prefers, after all linear maps and layer norms."""
    return (states(network.layers, x)[-1] @ network.readout.T).argmax(1)


def labelings(most: int) -> Iterator[tuple[Float[Tensor, "m 1"], Int[Tensor, " m"]]]:
    """Two to `most` points of a line, with every labeling by one or two labels; those used count from 0.

    >>> [labels.tolist() for _, labels in labelings(2)]
    [[0, 0], [0, 1], [1, 0], [0, 0]]
    """
    for m in range(2, most + 1):
        line = torch.linspace(-1, 1, m, dtype=torch.float64)[:, None]
        for labels in product((0, 1), repeat=m):
            yield line, torch.tensor(labels).unique(return_inverse=True)[1]


def construct(x: Float[Tensor, "m D"], labels: Int[Tensor, " m"]) -> Network:
    r"""The network of $m - K + 1$ layers that gives m points their labels, each of 0 to K - 1 used.

    The points' first coordinates must differ.

    >>> x = torch.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0], [3.0, 1.0], [4.0, 0.0]], dtype=torch.float64)
    >>> network = construct(x, torch.tensor([0, 1, 2, 1, 0]))
    >>> (states(network.layers, x)[-1] @ network.readout.T).argmax(1).tolist(), len(network.layers)
    ([0, 1, 2, 1, 0], 3)
    """
    names = labels.numpy()
    layers = [_onto_circle(x)]
    circle = _directions(layers, x)
    left, kinds = np.arange(len(names)), names
    while len(left) > kinds.max() + 1:
        gone, A, o = _merge(circle[left], kinds)
        W = _E @ A @ _E.T / np.sqrt(3)  # layer norm's outputs are root 3 long
        layers.append(Layer(torch.from_numpy(W), torch.from_numpy(-_E @ A @ o)))
        circle = _directions(layers, x)
        left, kinds = np.delete(left, gone), np.delete(kinds, gone)
    return Network(layers, torch.from_numpy(circle[left[np.argsort(kinds)]] @ _E.T))


def _onto_circle(x: Tensor) -> Layer:
    """First coordinates, between -1 and 1, to the directions of (first coordinate, 1)."""
    low, high = float(x[:, 0].min()), float(x[:, 0].max())
    scale = 2 / (high - low) if high > low else 1.0
    W = np.zeros((3, x.shape[1]))
    W[:, 0] = scale * _E[:, 0]
    bias = _E @ [-scale * (low + high) / 2, 1.0]
    return Layer(torch.from_numpy(W), torch.from_numpy(bias))


def _directions(layers: Sequence[Layer], x: Tensor) -> Float[np.ndarray, "m 2"]:
    return states(layers, x.double())[-1].numpy() @ _E / np.sqrt(3)


def _merge(
    points: Float[np.ndarray, "n 2"], kinds: Int[np.ndarray, " n"]
) -> tuple[int, Float[np.ndarray, "2 2"], Float[np.ndarray, " 2"]]:
    """Which point goes, and A and o of the map A(p - o) that keeps the others farthest apart in angle."""
    i, j = np.nonzero((kinds == kinds[:, None]) & ~np.eye(len(kinds), dtype=bool))
    i, j = np.repeat(i, len(DISTANCES)), np.repeat(j, len(DISTANCES))
    r = np.tile(DISTANCES, len(i) // len(DISTANCES))
    o = points[i] + r[:, None] * (points[i] - points[j])
    far = np.linalg.norm(o, axis=1, keepdims=True)
    ahead = -o / far  # the circle is seen around its center, within a right angle of it
    aside = np.stack([-ahead[:, 1], ahead[:, 0]], 1)
    depth = ahead @ points.T + far
    slope = (aside @ points.T) / depth
    stretch = 1 / np.sqrt((slope**2).mean(1))  # spread what is seen, however far away
    angles = np.arctan(stretch[:, None] * slope)
    angles[np.arange(len(j)), j] = np.inf
    ordered = np.sort(angles, axis=1)[:, :-1]
    best = int(np.diff(ordered, axis=1).min(1, initial=np.inf).argmax())
    return int(j[best]), np.stack([stretch[best] * aside[best], ahead[best]]), o[best]

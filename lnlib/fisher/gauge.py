r"""What no prediction sees of a network's weights: common vectors and scales in front of norms.

Layer norm of $a = Wx + c$ does not see what is added to all units alike, $W \to W + 1v^\top$,
$c \to c + \gamma 1$, and at $\epsilon = 0$ no positive scale, $(W, c) \to s\,(W, c)$; RMSNorm the scale only.
Group norm has both for each group. Several layers that add up before the norms (a residual stream) have a
common vector each and one scale together.

Epsilon breaks the scale: $\hat a$ becomes $s\sqrt{(\sigma^2+\epsilon)/(s^2\sigma^2+\epsilon)}\,\hat a$, to
first order $\hat a\,(1 + \frac{\epsilon}{\sigma^2+\epsilon}\log s)$, $\sigma^2$ the variance. That share is
the *residual* of the scale.
"""

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from lnlib.fisher.matrix_free import Products
from lnlib.fisher.network import Network, network
from lnlib.fisher.wiring import Reader, Writer, wiring

__all__ = ["Gauge", "Scale", "Shift", "canonical", "gauge"]


@dataclass(frozen=True)
class Shift:
    """All units of a parameter move alike: along its axis of units, in so many groups."""

    parameter: str
    axis: int
    groups: int

    def mean(self, part: Float[Tensor, "..."], axes: int = 0) -> Float[Tensor, "..."]:
        """The common part of an array, in its shape, behind so many leading axes."""
        grouped = part.unflatten(axes + self.axis, (self.groups, -1))
        common = grouped.mean(axes + self.axis + 1, keepdim=True)
        return common.expand_as(grouped).reshape(part.shape)


@dataclass(frozen=True)
class Scale:
    r"""The weights and biases of layers that are standardized together have no scale.

    Attributes:
        layers: their names. groups: of units, each with a scale of its own.
        units: of all the layers, in one group.
        parameters: names and axes of units.
        residual: the largest $\epsilon/(\sigma^2+\epsilon)$ that the cases met; 0 where the scale is free.
    """

    layers: tuple[str, ...]
    groups: int
    units: int
    parameters: tuple[tuple[str, int], ...]
    residual: float

    def directions(self, values: Mapping[str, Tensor]) -> list[dict[str, Tensor]]:
        """Each group's parameters with zeros elsewhere, of length 1; none where they are 0."""
        found = []
        for group in range(self.groups):
            parts = {}
            for name, axis in self.parameters:
                grouped = torch.zeros_like(values[name]).unflatten(axis, (self.groups, -1))
                own = values[name].unflatten(axis, (self.groups, -1)).select(axis, group)
                grouped.select(axis, group).copy_(own)
                parts[name] = grouped.reshape(values[name].shape)
            length = math.sqrt(sum(float(part.square().sum()) for part in parts.values()))
            if length > 0:
                found.append({name: part / length for name, part in parts.items()})
        return found


@dataclass(frozen=True)
class Gauge:
    r"""Directions in parameter space that no prediction sees, at the model's own parameters.

    Attributes:
        shifts: parameters whose units may move alike.
        scales: of layers whose scale no prediction sees. broken: those that epsilon ties, with residuals.
        parameters: the names, in the order of a vector, as in :class:`GGN`.
        dimension: how many directions, P how many parameters.
        projector: onto the span of the directions, $\Pi = \Pi^\top = \Pi^2$, (P, P), matrix-free.
    """

    shifts: tuple[Shift, ...]
    scales: tuple[Scale, ...]
    broken: tuple[Scale, ...]
    parameters: tuple[str, ...]
    dimension: int
    projector: Products

    def __repr__(self) -> str:
        return (
            f"Gauge({self.dimension} of {self.projector.size} directions: common vectors of "
            f"{len(self.shifts)} parameters, {len(self.scales)} scales, {len(self.broken)} broken by epsilon)"
        )


def gauge(model: nn.Module, X: Shaped[Tensor, "N ..."], tolerance: float = 0.0) -> Gauge:
    r"""The common vectors and scales that norms hide from every prediction, for all inputs.

    For them $F\,\Pi = 0$ with F of :class:`GGN`, and finite moves leave the outputs as they are:
    :func:`canonical`. They are found in the computation of one pass; directions that the given cases happen
    not to move, dead units for instance, are not among them, and symmetries of other layers neither.

    *Source* Table 1 of the paper for one layer; for networks ours. Salimans and Kingma (2016) for the scale.

    Args:
        model: as of :class:`GGN`.
        X: cases; they decide nothing but the residuals.
        tolerance: scales with a residual up to it count as free. 0: those at $\epsilon = 0$ alone.

    Raises:
        ValueError: as :class:`GGN`, or a tolerance outside 0..1.

    >>> model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4, eps=0.0), nn.Linear(4, 2))
    >>> gauge(model, torch.eye(3))
    Gauge(5 of 34 directions: common vectors of 2 parameters, 1 scales, 0 broken by epsilon)
    """
    return _gauge(network(model, X, None), tolerance)


def canonical(model: nn.Module, X: Shaped[Tensor, "N ..."], tolerance: float = 0.0) -> nn.Module:
    r"""The representative of a network's weights: the same function, no common vectors, one scale.

    Of all weights that differ by a common vector the shortest, $W \to (I - 11^\top/H)W$. Along a scale there
    is no shortest, since lengths go down to 0, which has no direction: the weights and biases that a scale
    multiplies together get the Frobenius norm $\sqrt U$, U their units, so that the incoming weights of a
    unit have the mean square length 1, about that of a usual initialization. Gains, biases of norms and
    epsilon stay. Weights that differ along the gauge have the same representative.

    Args:
        model, X, tolerance: as of :func:`gauge`; within the tolerance outputs move by the residual.

    Returns:
        A copy; the model itself stays.

    >>> model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.LayerNorm(4, eps=0.0))
    >>> W = canonical(model, torch.eye(3))[0].weight
    >>> bool(W.sum(0).abs().max() < 1e-6), f"{W.norm():.3f}"
    (True, '2.000')
    """
    net = network(model, X, None)
    found = _gauge(net, tolerance)
    values = _centered(net.values, found.shifts)
    for scale in found.scales:
        groups = scale.directions(values)
        for name, _ in scale.parameters:
            whole = sum((parts[name] for parts in groups), torch.zeros_like(values[name]))
            values[name] = math.sqrt(scale.units) * whole
    moved = copy.deepcopy(model)
    with torch.no_grad():
        for name, p in moved.named_parameters():
            p.copy_(values[name])
    return moved


def _gauge(net: Network, tolerance: float) -> Gauge:
    if not 0 <= tolerance < 1:
        raise ValueError(f"tolerance is {tolerance}; it bounds eps / (variance + eps), give a number in 0..1")
    writers, readers = wiring(net)
    only = {name: w for name, w in writers.items() if w.only_norms and _fits(w, readers)}
    shifts = tuple(s for w in only.values() for s in _shifts(w, readers))
    scales = _scales(only, readers)
    free = tuple(s for s in scales if s.residual <= tolerance)
    broken = tuple(s for s in scales if s.residual > tolerance)
    centered = _centered(net.values, shifts)
    zeros = {name: torch.zeros_like(v) for name, v in net.values.items()}
    along = [net.pack(zeros | parts) for s in free for parts in s.directions(centered)]
    D = torch.stack(along, 1) if along else net.like.new_empty(net.size, 0)

    def columns(V: Tensor) -> Tensor:
        parts = net.unpack(V.mT)
        common = {s.parameter: s.mean(parts[s.parameter], 1) for s in shifts}
        whole = {name: common.get(name, torch.zeros_like(part)) for name, part in parts.items()}
        return net.pack(whole, 1).mT + D @ (D.mT @ V)

    moved = [(net.values[s.parameter], s) for s in shifts]
    dimension = D.shape[1] + sum(v.numel() // v.shape[s.axis] * s.groups for v, s in moved)
    projector = Products(columns, net.like, net.size)
    return Gauge(shifts, free, broken, tuple(net.values), dimension, projector)


def _centered(values: Mapping[str, Tensor], shifts: tuple[Shift, ...]) -> dict[str, Tensor]:
    """The parameters without what their units have in common, which takes two passes to round-off."""
    moved = dict(values)
    for s in shifts * 2:
        moved[s.parameter] = moved[s.parameter] - s.mean(moved[s.parameter])
    return moved


def _fits(writer: Writer, readers: Mapping[str, Reader]) -> bool:
    """The norms standardize the layer's own units, one for one."""
    read = [readers[name] for name in writer.readers]
    return all(r.units == writer.units and (r.channels if writer.convolution else r.last) for r in read)


def _shifts(writer: Writer, readers: Mapping[str, Reader]) -> list[Shift]:
    read = [readers[name] for name in writer.readers]
    if not all(r.centered for r in read):
        return []
    groups = math.gcd(*(r.groups for r in read))
    found = [] if writer.convolution else [Shift(f"{writer.name}.weight", writer.axis, groups)]
    if writer.module._parameters.get("bias") is not None:
        found.append(Shift(f"{writer.name}.bias", 0, groups))
    return found


def _scales(only: Mapping[str, Writer], readers: Mapping[str, Reader]) -> list[Scale]:
    """One for each set of layers and norms that are connected and closed."""
    left, found = dict(only), []
    while left:
        layers: list[Writer] = []
        norms: set[str] = set()
        frontier, closed = [next(iter(left))], True
        while frontier:
            writer = left.pop(frontier.pop(), None)
            if writer is None:
                continue
            layers.append(writer)
            for name in writer.readers - norms:
                norms.add(name)
                closed &= readers[name].closed and readers[name].sources <= only.keys()
                frontier += readers[name].sources & only.keys()
        if closed:
            groups = math.gcd(*(readers[name].groups for name in norms))
            parts = [(f"{w.name}.weight", w.axis) for w in layers]
            parts += [(f"{w.name}.bias", 0) for w in layers if w.module._parameters.get("bias") is not None]
            residual = max(readers[name].residual for name in norms)
            units = sum(w.units for w in layers) // groups
            found.append(Scale(tuple(w.name for w in layers), groups, units, tuple(parts), residual))
    return found

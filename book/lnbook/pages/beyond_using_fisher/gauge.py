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

from lnbook.pages.beyond_using_fisher.wiring import CONVOLUTIONS, Reader, Writer, wiring


@dataclass(frozen=True)
class Shift:
    """All units of a parameter move alike: along its axis of units, in so many groups."""

    parameter: str
    axis: int
    groups: int

    def mean(self, part: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        """The common part of an array, in its shape."""
        grouped = part.unflatten(self.axis, (self.groups, -1))
        common = grouped.mean(self.axis + 1, keepdim=True)
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
                only = torch.zeros(self.groups, dtype=values[name].dtype, device=values[name].device)
                only[group] = 1
                only = only.repeat_interleave(values[name].shape[axis] // self.groups)
                parts[name] = values[name] * only.view(-1, *[1] * (values[name].ndim - 1 - axis))
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
        values: the parameters, by name, in the order of a vector.
        along: directions of the scales, orthonormal and at a right angle to the common vectors, (S, P).
    """

    shifts: tuple[Shift, ...]
    scales: tuple[Scale, ...]
    broken: tuple[Scale, ...]
    values: dict[str, Tensor]
    along: Float[Tensor, "S P"]

    @property
    def dimension(self) -> int:
        """How many directions."""
        shifted = ((self.values[s.parameter], s) for s in self.shifts)
        return len(self.along) + sum(v.numel() // v.shape[s.axis] * s.groups for v, s in shifted)

    def project(self, v: Float[Tensor, " P"]) -> Float[Tensor, " P"]:
        r"""$\Pi v$: what of a vector lies along the directions; $\Pi = \Pi^\top = \Pi^2$."""
        parts = dict(zip(self.values, v.split([p.numel() for p in self.values.values()]), strict=True))
        shifts = {s.parameter: s for s in self.shifts}
        common = [
            shifts[name].mean(part.view_as(self.values[name])) if name in shifts else 0 * part
            for name, part in parts.items()
        ]
        return torch.cat([part.flatten() for part in common]) + self.along.mT @ (self.along @ v)

    def __repr__(self) -> str:
        return (
            f"Gauge({self.dimension} of {self.along.shape[1]} directions: common vectors of "
            f"{len(self.shifts)} parameters, {len(self.scales)} scales, {len(self.broken)} broken by epsilon)"
        )


def gauge(model: nn.Module, X: Shaped[Tensor, "N ..."], tolerance: float = 0.0) -> Gauge:
    r"""The common vectors and scales that norms hide from every prediction, for all inputs.

    For them $F\,\Pi = 0$ with F of :class:`lnlib.fisher.GGN`, and finite moves leave the outputs as they are:
    :func:`canonical`. They are read off the computation; directions that the given cases happen not to move,
    dead units for instance, are not among them, and symmetries of other layers neither.

    *Source* Table 1 of the paper for one layer; for networks ours. Salimans and Kingma (2016) for the scale.

    Args:
        model: as of :class:`lnlib.fisher.GGN`; torch.fx must be able to trace it.
        X: cases; they decide nothing but the residuals.
        tolerance: scales with a residual up to it, below 1, count as free. 0: those at $\epsilon = 0$ alone.

    Raises:
        TypeError, ValueError: as :class:`lnlib.fisher.GGN`; a model that torch.fx cannot trace.

    >>> model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4, eps=0.0), nn.Linear(4, 2))
    >>> gauge(model, torch.eye(3))
    Gauge(5 of 34 directions: common vectors of 2 parameters, 1 scales, 0 broken by epsilon)
    """
    writers, readers = wiring(model, X)
    only = {name: w for name, w in writers.items() if w.only_norms and _fits(w, readers)}
    shifts = tuple(s for name, w in only.items() for s in _shifts(name, w, readers))
    scales = _scales(only, readers)
    free = tuple(s for s in scales if s.residual <= tolerance)
    broken = tuple(s for s in scales if s.residual > tolerance)
    values = {name: p.detach() for name, p in model.named_parameters()}
    centered = _centered(values, shifts)
    zeros = {name: torch.zeros_like(v) for name, v in values.items()}
    scaled = [zeros | d for s in free for d in s.directions(centered)]
    along = [torch.cat([part.flatten() for part in d.values()]) for d in scaled]
    size = sum(v.numel() for v in values.values())
    empty = next(iter(values.values())).new_empty(0, size)
    return Gauge(shifts, free, broken, values, torch.stack(along) if along else empty)


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
    found = gauge(model, X, tolerance)
    values = _centered(found.values, found.shifts)
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


def _centered(values: Mapping[str, Tensor], shifts: tuple[Shift, ...]) -> dict[str, Tensor]:
    """The parameters without what their units have in common, which takes two passes to round-off."""
    moved = dict(values)
    for s in shifts * 2:
        moved[s.parameter] = moved[s.parameter] - s.mean(moved[s.parameter])
    return moved


def _fits(writer: Writer, readers: Mapping[str, Reader]) -> bool:
    """The norms standardize the layer's own units, one for one; an embedding leaves its weights alone."""
    axis = 1 if type(writer.module) in CONVOLUTIONS else -1
    read = [readers[name] for name in writer.readers]
    changed = getattr(writer.module, "max_norm", None) is not None
    return not changed and all(r.units == writer.units and axis in r.axes for r in read)


def _parameters(name: str, writer: Writer) -> list[tuple[str, int]]:
    """Names and axes of units of a layer's weight, and of its bias if it has one."""
    bias = getattr(writer.module, "bias", None) is not None
    return [(f"{name}.weight", writer.axis)] + ([(f"{name}.bias", 0)] if bias else [])


def _shifts(name: str, writer: Writer, readers: Mapping[str, Reader]) -> list[Shift]:
    read = [readers[reader] for reader in writer.readers]
    if any(isinstance(r.module, nn.RMSNorm) for r in read):
        return []
    groups = math.gcd(*(r.groups for r in read))
    # under zero padding a convolution's common weights are no common vector at the border
    skipped = 1 if type(writer.module) in CONVOLUTIONS else 0
    return [Shift(parameter, axis, groups) for parameter, axis in _parameters(name, writer)[skipped:]]


def _scales(only: Mapping[str, Writer], readers: Mapping[str, Reader]) -> list[Scale]:
    """One for each set of layers and norms that are connected and closed."""
    left, found = set(only), []
    for first in only:
        layers: list[str] = []
        norms: set[str] = set()
        frontier = [first]
        while frontier:
            name = frontier.pop()
            if name not in left:
                continue
            left.remove(name)
            layers.append(name)
            norms |= only[name].readers
            frontier += {s for norm in only[name].readers for s in readers[norm].sources & only.keys()}
        if layers and all(readers[norm].closed and readers[norm].sources <= only.keys() for norm in norms):
            groups = math.gcd(*(readers[norm].groups for norm in norms))
            parts = [part for name in layers for part in _parameters(name, only[name])]
            residual = max(readers[norm].residual for norm in norms)
            units = sum(only[name].units for name in layers) // groups
            found.append(Scale(tuple(layers), groups, units, tuple(parts), residual))
    return found

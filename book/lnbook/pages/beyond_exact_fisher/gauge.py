r"""What no prediction sees of a network's weights: common vectors and scales in front of norms.

Layer norm of $a = Wx + c$ does not see what is added to all units alike, $W \to W + 1v^\top$,
$c \to c + \gamma 1$, and at $\epsilon = 0$ no positive scale, $(W, c) \to s\,(W, c)$; RMSNorm the scale only.
Several layers that add up before the norms (a residual stream) have a common vector each and one scale
together.

Epsilon breaks the scale: $\hat a$ becomes $s\sqrt{(\sigma^2+\epsilon)/(s^2\sigma^2+\epsilon)}\,\hat a$, to
first order $\hat a\,(1 + \frac{\epsilon}{\sigma^2+\epsilon}\log s)$, $\sigma^2$ the variance. That share is
the *residual* of the scale.
"""

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from lnbook.pages.beyond_exact_fisher.wiring import Wiring, unit_axis, units, wiring


@dataclass(frozen=True)
class Scale:
    r"""The weights and biases of layers that are standardized together have no scale.

    Attributes:
        layers, parameters: their names. units: of all the layers.
        residual: the largest $\epsilon/(\sigma^2+\epsilon)$ that the cases met; 0 where the scale is free.
    """

    layers: tuple[str, ...]
    parameters: tuple[str, ...]
    units: int
    residual: float

    def length(self, values: Mapping[str, Tensor]) -> float:
        """Frobenius norm of the parameters."""
        return math.sqrt(sum(float(values[name].square().sum()) for name in self.parameters))


@dataclass(frozen=True)
class Gauge:
    r"""Directions in parameter space that no prediction sees, at the model's own parameters.

    Attributes:
        shifts: parameters whose units may move alike, with the axis of the units.
        scales: of layers whose scale no prediction sees. broken: those that epsilon ties, with residuals.
        values: the parameters, by name, in the order of a vector.
        along: directions of the scales, orthonormal and at a right angle to the common vectors, (S, P).
    """

    shifts: dict[str, int]
    scales: tuple[Scale, ...]
    broken: tuple[Scale, ...]
    values: dict[str, Tensor]
    along: Float[Tensor, "S P"]

    @property
    def dimension(self) -> int:
        """How many directions."""
        shifted = ((self.values[name], axis) for name, axis in self.shifts.items())
        return len(self.along) + sum(v.numel() // v.shape[axis] for v, axis in shifted)

    def project(self, v: Float[Tensor, " P"]) -> Float[Tensor, " P"]:
        r"""$\Pi v$: what of a vector lies along the directions; $\Pi = \Pi^\top = \Pi^2$."""
        parts = v.split([p.numel() for p in self.values.values()])
        common = []
        for (name, value), part in zip(self.values.items(), parts, strict=True):
            part = part.view_as(value)
            common.append(_common(part, self.shifts[name]) if name in self.shifts else 0 * part)
        return torch.cat([part.flatten() for part in common]) + self.along.mT @ (self.along @ v)

    def __repr__(self) -> str:
        return (
            f"Gauge({self.dimension} of {self.along.shape[1]} directions: common vectors of "
            f"{len(self.shifts)} parameters, {len(self.scales)} scales, {len(self.broken)} broken by epsilon)"
        )


def gauge(model: nn.Module, X: Shaped[Tensor, "N ..."], tolerance: float = 0.0) -> Gauge:
    r"""The common vectors and scales that norms hide from every prediction, for all inputs.

    For them $F\,\Pi = 0$ with F of :class:`lnlib.fisher.GGN`, and finite moves leave the outputs as they are:
    :func:`canonical`. They are read off the computation, for linear layers and embeddings in front of layer
    norm and RMSNorm; directions that the given cases happen not to move, dead units for instance, are not
    among them, and symmetries of other layers neither.

    *Source* Table 1 of the paper for one layer; for networks ours. Salimans and Kingma (2016) for the scale.

    Args:
        model: as of :class:`lnlib.fisher.GGN`; torch.fx must be able to trace it.
        X: cases; they decide nothing but the residuals.
        tolerance: scales with a residual up to it, below 1, count as free. 0: those at $\epsilon = 0$ alone.

    >>> model = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4, eps=0.0), nn.Linear(4, 2))
    >>> gauge(model, torch.eye(3))
    Gauge(5 of 34 directions: common vectors of 2 parameters, 1 scales, 0 broken by epsilon)
    """
    wired = wiring(model, X)
    shifts: dict[str, int] = {}
    for layer, norms in wired.feeds.items():
        if not any(isinstance(model.get_submodule(norm), nn.RMSNorm) for norm in norms):
            shifts |= _parameters(model, layer)
    scales = tuple(_scales(model, wired))
    free = tuple(s for s in scales if s.residual <= tolerance)
    broken = tuple(s for s in scales if s.residual > tolerance)
    values = {name: p.detach() for name, p in model.named_parameters()}
    centered = _centered(values, shifts)
    along = [torch.zeros(0, sum(v.numel() for v in values.values())).to(next(iter(values.values())))]
    for scale in free:
        if length := scale.length(centered):
            parts = [(name in scale.parameters) * v / length for name, v in centered.items()]
            along.append(torch.cat([part.flatten() for part in parts])[None])
    return Gauge(shifts, free, broken, values, torch.cat(along))


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
        if length := scale.length(values):
            values |= {name: math.sqrt(scale.units) / length * values[name] for name in scale.parameters}
    moved = copy.deepcopy(model)
    with torch.no_grad():
        for name, p in moved.named_parameters():
            p.copy_(values[name])
    return moved


def _common(part: Float[Tensor, "..."], axis: int) -> Float[Tensor, "..."]:
    """What all units of an array have in common, in its shape."""
    return part.mean(axis, keepdim=True).expand_as(part)


def _centered(values: Mapping[str, Tensor], shifts: Mapping[str, int]) -> dict[str, Tensor]:
    """The parameters without what their units have in common."""
    return {n: v - _common(v, shifts[n]) if n in shifts else v for n, v in values.items()}


def _parameters(model: nn.Module, layer: str) -> dict[str, int]:
    """The weight of a layer, and its bias if it has one, with the axis of their units."""
    module = model.get_submodule(layer)
    return {f"{layer}.{name}": unit_axis(module) for name, _ in module.named_parameters()}


def _scales(model: nn.Module, wired: Wiring) -> Iterator[Scale]:
    """One for each set of layers and norms that are connected and read nothing else."""
    done: set[str] = set()
    for first in wired.feeds:
        layers, norms = {first}, wired.feeds[first]
        while more := {name for norm in norms for name in wired.reads[norm]} - layers:
            layers |= more
            norms = norms.union(*(wired.feeds.get(name, ()) for name in more))
        if first not in done and layers <= wired.feeds.keys():
            done |= layers
            ordered = tuple(name for name in wired.feeds if name in layers)
            parameters = tuple(name for layer in ordered for name in _parameters(model, layer))
            count = sum(units(model.get_submodule(layer)) for layer in ordered)
            yield Scale(ordered, parameters, count, max(wired.residuals[norm] for norm in norms))

r"""What no prediction sees of a network's weights: common vectors and scales in front of norms.

Layer norm of $a = Wx + c$ does not see what is added to all units alike, $W \to W + 1v^\top$,
$c \to c + \gamma 1$, and at $\epsilon = 0$ no positive scale, $(W, c) \to s\,(W, c)$; RMSNorm the scale only.
Several layers that add up before the norms (a residual stream) have a common vector each and one scale
together.

Epsilon breaks the scale: $\hat a$ becomes $s\sqrt{(\sigma^2+\epsilon)/(s^2\sigma^2+\epsilon)}\,\hat a$, to
first order $\hat a\,(1 + \frac{\epsilon}{\sigma^2+\epsilon}\log s)$, $\sigma^2$ the variance. That share is
the *residual* of the scale.

A trace by torch.fx tells which layers feed norms and nothing else, for every input. It does not look into
modules with hooks, into modules of torch.nn with parts of their own (`nn.TransformerEncoderLayer`) or into
lnlib's recurrent networks, and follows no sum in place.
"""

import copy
import inspect
import math
import operator
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, fx, nn

from lnlib import LayerNorm, RMSNorm
from lnlib.fisher.ggn import predictions
from lnlib.linear import Linear

# By exact type: a subclass may compute something else.
LAYERS = (nn.Linear, Linear, nn.Embedding)
NORMS = (nn.LayerNorm, LayerNorm, nn.RMSNorm, RMSNorm)
SUMS = (operator.add, operator.sub, torch.add, torch.sub)
SAME = (nn.Identity, nn.Dropout)  # at rest

Named = dict[str, set[str]]


class Scale(NamedTuple):
    """Weights and biases that are standardized together and so have no scale."""

    parameters: tuple[str, ...]
    units: int
    residual: float  # the largest that the cases met

    def length(self, values: Mapping[str, Tensor]) -> float:
        """Frobenius norm of the parameters."""
        return math.sqrt(sum(float(values[name].square().sum()) for name in self.parameters))


class Gauge(NamedTuple):
    """Directions in parameter space that no prediction sees, at the model's own parameters."""

    shifts: dict[str, int]  # parameters whose units may move alike, with the axis of the units
    scales: tuple[Scale, ...]
    broken: tuple[Scale, ...]  # scales that epsilon ties
    values: dict[str, Tensor]  # the parameters, in the order of a vector
    along: Float[Tensor, "S P"]  # the scales' directions, orthonormal, at right angles to the common vectors
    dimension: int  # how many directions

    def project(self, v: Float[Tensor, " P"]) -> Float[Tensor, " P"]:
        r"""$\Pi v$: what of a vector lies along the directions; $\Pi = \Pi^\top = \Pi^2$."""
        parts = v.split([p.numel() for p in self.values.values()])
        shaped = {n: part.view_as(self.values[n]) for n, part in zip(self.values, parts, strict=True)}
        rest = torch.cat([part.flatten() for part in _centered(shaped, self.shifts).values()])
        return v - rest + self.along.mT @ (self.along @ v)


def gauge(model: nn.Module, X: Shaped[Tensor, "N ..."], tolerance: float = 0.0) -> Gauge:
    r"""The common vectors and scales that norms hide from every prediction: $F\,\Pi = 0$ for all inputs.

    The cases decide nothing but the residuals; scales with a residual up to the tolerance, below 1, are free.
    *Source* Table 1 of the paper for one layer; for networks ours. Salimans and Kingma (2016) for the scale.
    """
    feeds, reads, residuals = _wiring(model, X)
    shifts: dict[str, int] = {}
    for layer, norms in feeds.items():
        if not any(isinstance(model.get_submodule(norm), nn.RMSNorm) for norm in norms):
            shifts |= _parameters(model, layer)
    scales = list(_scales(model, feeds, reads, residuals))
    free = tuple(s for s in scales if s.residual <= tolerance)
    broken = tuple(s for s in scales if s.residual > tolerance)
    values = {name: p.detach() for name, p in model.named_parameters()}
    centered = _centered(values, shifts)
    theta = torch.cat([v.flatten() for v in values.values()])
    along = [theta.new_zeros(0, len(theta))]
    for scale in free:
        if length := scale.length(centered):
            parts = [(name in scale.parameters) * v / length for name, v in centered.items()]
            along.append(torch.cat([part.flatten() for part in parts])[None])
    shared = sum(values[name].numel() // values[name].shape[axis] for name, axis in shifts.items())
    return Gauge(shifts, free, broken, values, torch.cat(along), len(along) - 1 + shared)


def canonical(model: nn.Module, X: Shaped[Tensor, "N ..."], tolerance: float = 0.0) -> nn.Module:
    r"""A copy with a function's representative weights: without common vectors, of one scale.

    Of all weights that differ by a common vector the shortest, $W \to (I - 11^\top/H)W$. What a scale
    multiplies together gets the Frobenius norm $\sqrt U$, U its units: weights into a unit then have the mean
    square length 1. Within the tolerance, as of :func:`gauge`, outputs move by the residual.
    """
    found = gauge(model, X, tolerance)
    values = _centered(found.values, found.shifts)
    for scale in found.scales:
        if length := scale.length(values):
            values |= {name: math.sqrt(scale.units) / length * values[name] for name in scale.parameters}
    moved = copy.deepcopy(model)
    moved.load_state_dict(values, strict=False)  # buffers stay
    return moved


def _centered(values: Mapping[str, Tensor], shifts: Mapping[str, int]) -> dict[str, Tensor]:
    """The parameters without what their units have in common."""
    return {n: v - v.mean(shifts[n], keepdim=True) if n in shifts else v for n, v in values.items()}


def _parameters(model: nn.Module, layer: str) -> dict[str, int]:
    """The weight of a layer, and its bias if it has one, with the axis of their units."""
    module = model.get_submodule(layer)
    axis = int(isinstance(module, nn.Embedding))
    return {f"{layer}.{name}": axis for name, _ in module.named_parameters()}


def _units(model: nn.Module, layer: str) -> int:
    weight = f"{layer}.weight"
    return model.get_parameter(weight).shape[_parameters(model, layer)[weight]]


def _scales(model: nn.Module, feeds: Named, reads: Named, residuals: Mapping[str, float]) -> Iterator[Scale]:
    """One for each set of layers and norms that are connected and read nothing else."""
    done: set[str] = set()
    for first in feeds:
        layers, norms = {first}, feeds[first]
        while more := {name for norm in norms for name in reads[norm]} - layers:
            layers |= more
            norms = norms.union(*(feeds.get(name, ()) for name in more))
        if first not in done and layers <= feeds.keys():
            done |= layers
            ordered = [name for name in feeds if name in layers]
            parameters = tuple(name for layer in ordered for name in _parameters(model, layer))
            count = sum(_units(model, layer) for layer in ordered)
            yield Scale(parameters, count, max(residuals[norm] for norm in norms))


class _Tracer(fx.Tracer):
    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        own = type(m).__module__.startswith("lnlib.")
        return own or super().is_leaf_module(m, module_qualified_name)


def _wiring(model: nn.Module, X: Shaped[Tensor, "N ..."]) -> tuple[Named, Named, dict[str, float]]:
    """Layers that feed norms over their own units and nothing else; what norms read; their residuals."""
    predictions(model, X)
    defaults = {n: p.default for n, p in inspect.signature(model.forward).parameters.items()}
    given = {n: value for n, value in defaults.items() if value is not inspect.Parameter.empty}
    graph = _Tracer().trace(model, concrete_args=given)
    run = fx.Interpreter(model, garbage_collect_values=False, graph=graph)
    with torch.no_grad():
        run.run(X)
    feeds: Named = defaultdict(set)
    reads: Named = defaultdict(set)  # layers, "" for anything else
    residuals: dict[str, float] = defaultdict(float)
    made: dict[fx.Node, set[str]] = {}  # the layers whose outputs a node adds up, "" for anything else
    for node in graph.nodes:
        read = {name for source in node.all_input_nodes for name in made[source]}
        numbers = node.kwargs or not all(isinstance(a, fx.Node) for a in node.args)
        if (node.target in SUMS and not numbers) or _called(model, node, SAME):
            made[node] = read
            continue
        norm = _called(model, node, NORMS)
        for name in read:
            feeds[name].add(norm)
        if norm:
            reads[norm] |= read
            share = _residual(model.get_submodule(norm), run.env[node.all_input_nodes[0]])
            residuals[norm] = max(residuals[norm], share)
        made[node] = {_called(model, node, LAYERS)}
    owned = [(name, id(p)) for name, m in model.named_modules() for p in m.parameters(recurse=False)]
    owners = Counter(p for _, p in owned)
    elsewhere = {name for name, p in owned if owners[p] > 1}  # shared, or read without calling the module
    elsewhere |= {str(node.target).rpartition(".")[0] for node in graph.nodes if node.op == "get_attr"}
    known = feeds.keys() - elsewhere - {""}
    names = [name for name, _ in model.named_modules() if name in known and _fit(model, name, feeds[name])]
    return {name: feeds[name] for name in names}, reads, residuals


def _called(model: nn.Module, node: fx.Node, kinds: tuple[type, ...]) -> str:
    """The name of the module of these types that a node calls, if nothing is hooked to it."""
    if node.op != "call_module":
        return ""
    module = model.get_submodule(str(node.target))
    hooked = module._forward_hooks or module._forward_pre_hooks
    return str(node.target) if type(module) in kinds and not hooked else ""


def _fit(model: nn.Module, layer: str, norms: set[str]) -> bool:
    """All that it feeds are norms over its own units; an embedding leaves its weights alone."""
    read: list[Any] = [model.get_submodule(norm) for norm in norms if norm]
    changed = getattr(model.get_submodule(layer), "max_norm", None) is not None
    shapes = [tuple(norm.normalized_shape) for norm in read]
    return not changed and shapes == [(_units(model, layer),)] * len(norms)


def _residual(norm: Any, a: Tensor) -> float:
    eps = torch.finfo(a.dtype).eps if norm.eps is None else norm.eps
    if eps == 0:
        return 0.0
    power = a.square().mean(-1) if isinstance(norm, nn.RMSNorm) else a.var(-1, correction=0)
    return float((eps / (power + eps)).max())

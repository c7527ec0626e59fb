r"""Which layers feed norms and nothing else, read off a trace of the network by torch.fx.

What a linear layer or an embedding makes may be added to others' (a residual stream) on the way, if every
path of it ends in a norm. What is found holds for every input. A module with a hook is none of ours, since a
hook may change what goes in and out; into modules of torch.nn with parts of their own, such as
`nn.TransformerEncoderLayer`, and into lnlib's recurrent networks the trace does not look, and it follows no
sum in place.
"""

import inspect
import operator
from collections import Counter, defaultdict
from typing import Any, NamedTuple, cast

import torch
from jaxtyping import Shaped
from torch import Tensor, fx, nn

from lnlib import LayerNorm, RMSNorm
from lnlib.fisher.ggn import predictions
from lnlib.linear import Linear

# By exact type: a subclass may compute something else.
LAYERS = (nn.Linear, Linear, nn.Embedding)
NORMS = (nn.LayerNorm, LayerNorm, nn.RMSNorm, RMSNorm)
SUMS = (operator.add, operator.sub, torch.add, torch.sub)
SAME = (nn.Identity, nn.Dropout)  # at rest


class Wiring(NamedTuple):
    """Layers and norms of a network, by name.

    Attributes:
        feeds: layers that feed norms over their own units and nothing else: which ones.
        reads: what each norm reads: layers, and "" for anything else.
        residuals: of each norm, the largest eps / (variance + eps) of the cases.
    """

    feeds: dict[str, set[str]]
    reads: dict[str, set[str]]
    residuals: dict[str, float]


class _Tracer(fx.Tracer):
    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        own = type(m).__module__.startswith("lnlib.")
        return own or super().is_leaf_module(m, module_qualified_name)


def wiring(model: nn.Module, X: Shaped[Tensor, "N ..."]) -> Wiring:
    """What feeds what; refuses what :class:`lnlib.fisher.GGN` does and what torch.fx cannot trace."""
    predictions(model, X)
    defaults = {n: p.default for n, p in inspect.signature(model.forward).parameters.items()}
    given = {n: value for n, value in defaults.items() if value is not inspect.Parameter.empty}
    try:
        graph = _Tracer().trace(model, concrete_args=given)
    except Exception as error:
        raise ValueError(
            f"torch.fx cannot trace {type(model).__name__}: {error}; give a part of it"
        ) from error
    run = fx.Interpreter(model, garbage_collect_values=False, graph=graph)
    with torch.no_grad():
        run.run(X)
    feeds: dict[str, set[str]] = defaultdict(set)
    reads: dict[str, set[str]] = defaultdict(set)
    residuals: dict[str, float] = defaultdict(float)
    made: dict[fx.Node, set[str]] = {}  # the layers whose outputs a node adds up, "" for anything else
    for node in graph.nodes:
        read = {name for source in node.all_input_nodes for name in made[source]}
        if _adds_up(model, node):
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
    known = feeds.keys() - _read_elsewhere(model, graph) - {""}
    names = [name for name, _ in model.named_modules() if name in known and _fit(model, name, feeds[name])]
    return Wiring({name: feeds[name] for name in names}, reads, residuals)


def _called(model: nn.Module, node: fx.Node, kinds: tuple[type, ...]) -> str:
    """The name of the module of these types that a node calls, if nothing is hooked to it."""
    if node.op != "call_module":
        return ""
    module = model.get_submodule(str(node.target))
    hooked = module._forward_hooks or module._forward_pre_hooks
    return str(node.target) if type(module) in kinds and not hooked else ""


def _adds_up(model: nn.Module, node: fx.Node) -> bool:
    """Whether a node is the sum or the difference of two others, or the same as another."""
    sums = node.op == "call_function" and node.target in SUMS and not node.kwargs
    sums = sums and all(isinstance(a, fx.Node) for a in node.args)
    return sums or bool(_called(model, node, SAME))


def _fit(model: nn.Module, layer: str, norms: set[str]) -> bool:
    """All that it feeds are norms over its own units; an embedding leaves its weights alone."""
    module, read = model.get_submodule(layer), [model.get_submodule(norm) for norm in norms if norm]
    shapes = [tuple(cast(nn.LayerNorm | nn.RMSNorm, norm).normalized_shape) for norm in read]
    changed = getattr(module, "max_norm", None) is not None
    return not changed and shapes == [(units(module),)] * len(norms)


def unit_axis(layer: nn.Module) -> int:
    """The axis of the units in a layer's weight."""
    return 1 if isinstance(layer, nn.Embedding) else 0


def units(layer: nn.Module) -> int:
    """How many a layer has."""
    return layer.get_parameter("weight").shape[unit_axis(layer)]


def _residual(norm: Any, a: Tensor) -> float:
    eps = torch.finfo(a.dtype).eps if norm.eps is None else norm.eps
    if eps == 0:
        return 0.0
    power = a.square().mean(-1) if isinstance(norm, nn.RMSNorm) else a.var(-1, correction=0)
    return float((eps / (power + eps)).max())


def _read_elsewhere(model: nn.Module, graph: fx.Graph) -> set[str]:
    """Modules whose parameters belong to another one, too, or are read without calling the module."""
    owners = Counter(id(p) for m in model.modules() for p in m.parameters(recurse=False))
    shared = {
        name
        for name, m in model.named_modules()
        if any(owners[id(p)] > 1 for p in m.parameters(recurse=False))
    }
    return shared | {str(node.target).rpartition(".")[0] for node in graph.nodes if node.op == "get_attr"}

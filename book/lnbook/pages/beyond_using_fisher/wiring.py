r"""Which layers write into norms and into nothing else, read off a trace of the network by torch.fx.

A *writer* is a linear, embedding or convolution layer, a *reader* a norm. What a writer makes may be added to
others' (a residual stream) on the way, if every path of it ends in a norm. What is found holds for every
input. A layer with a hook is neither, since a hook may change what goes in and out; into modules of torch.nn
with parts of their own, such as `nn.TransformerEncoderLayer`, and into lnlib's recurrent networks the trace
does not look, and it follows no sum in place.
"""

import inspect
import math
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from jaxtyping import Shaped
from torch import Tensor, fx, nn

from lnlib import GroupNorm, LayerNorm, RMSNorm
from lnlib.fisher.ggn import predictions
from lnlib.linear import Linear

# By exact type: a subclass may compute something else.
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
WRITERS = (nn.Linear, Linear, nn.Embedding, *CONVOLUTIONS)
READERS = (nn.LayerNorm, LayerNorm, nn.RMSNorm, RMSNorm, nn.GroupNorm, GroupNorm)
SUMS = (operator.add, operator.sub, torch.add, torch.sub, "add", "sub", "clone", "contiguous")
SAME = (nn.Identity, nn.Dropout)  # at rest


@dataclass
class Reader:
    """A norm: how many units, in how many sets of their own, along which axis; the writers it reads.

    Attributes:
        residual: the largest eps / (variance + eps) of the cases. closed: it reads nothing but writers.
    """

    module: Any
    units: int
    groups: int
    axes: tuple[int, ...]  # of the units in the input, 1 for channels and -1 for the last
    residual: float = 0.0
    sources: set[str] = field(default_factory=set)
    closed: bool = True


@dataclass
class Writer:
    """A layer, the norms that read it, and whether nothing else does."""

    module: Any
    readers: set[str] = field(default_factory=set)
    only_norms: bool = True

    @property
    def axis(self) -> int:
        """That of the units in the weight."""
        return 1 if isinstance(self.module, nn.Embedding) else 0

    @property
    def units(self) -> int:
        """How many there are."""
        return self.module.weight.shape[self.axis]


class _Tracer(fx.Tracer):
    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        own = type(m).__module__.startswith("lnlib.")
        return own or super().is_leaf_module(m, module_qualified_name)


def wiring(model: nn.Module, X: Shaped[Tensor, "N ..."]) -> tuple[dict[str, Writer], dict[str, Reader]]:
    """The writers and readers of a network, by name.

    Raises:
        TypeError, ValueError: as :class:`lnlib.fisher.GGN`; a model that torch.fx cannot trace.
    """
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
    writers: dict[str, Writer] = {}
    readers: dict[str, Reader] = {}
    for node in graph.nodes:
        module, name = _layer(model, node), str(node.target)
        if type(module) in WRITERS:
            writer = writers.setdefault(name, Writer(module))
            for end in _ends(node, lambda n: n.users, model):
                reads = type(_layer(model, end)) in READERS
                writer.only_norms &= reads
                writer.readers |= {str(end.target)} if reads else set()
        elif type(module) in READERS:
            a = run.env[node.all_input_nodes[0]]
            reader = readers.setdefault(name, _reader(module, a))
            reader.residual = max(reader.residual, _residual(module, a))
            for end in _ends(node, lambda n: n.all_input_nodes, model):
                writes = type(_layer(model, end)) in WRITERS
                reader.closed &= writes
                reader.sources |= {str(end.target)} if writes else set()
    for name in _read_elsewhere(model, graph) & writers.keys():
        writers[name].only_norms = False
    return {name: w for name, w in writers.items() if w.readers}, readers


def _layer(model: nn.Module, node: fx.Node) -> nn.Module | None:
    """The module that a node calls, if nothing is hooked to it."""
    if node.op != "call_module":
        return None
    module = model.get_submodule(str(node.target))
    return None if module._forward_hooks or module._forward_pre_hooks else module


def _ends(
    start: fx.Node, neighbors: Callable[[fx.Node], Iterable[fx.Node]], model: nn.Module
) -> Iterator[fx.Node]:
    """The first nodes on each path from `start` that are no sums of two nodes."""
    seen, stack = set(), list(neighbors(start))
    while stack:
        node = stack.pop()
        sums = node.op in ("call_function", "call_method") and node.target in SUMS and not node.kwargs
        sums = sums and all(isinstance(a, fx.Node) for a in node.args)
        if not sums and type(_layer(model, node)) not in SAME:
            yield node
        elif node not in seen:
            seen.add(node)
            stack += [*neighbors(node)]


def _reader(module: Any, a: Tensor) -> Reader:
    if isinstance(module, nn.GroupNorm):
        return Reader(module, module.num_channels, module.num_groups, (1, -1) if a.ndim == 2 else (1,))
    *others, units = module.normalized_shape
    return Reader(module, units, 1, () if others else (-1,))


def _residual(module: Any, a: Tensor) -> float:
    eps = torch.finfo(a.dtype).eps if module.eps is None else module.eps
    if eps == 0:
        return 0.0
    if isinstance(module, nn.GroupNorm):
        rows = a.reshape(len(a) * module.num_groups, -1)
    else:
        rows = a.reshape(-1, math.prod(module.normalized_shape))
    power = rows.square().mean(1) if isinstance(module, nn.RMSNorm) else rows.var(1, correction=0)
    return float((eps / (power + eps)).max())


def _read_elsewhere(model: nn.Module, graph: fx.Graph) -> set[str]:
    """Modules whose parameters belong to another one, too, or are read without calling the module."""
    owners = Counter(id(p) for m in model.modules() for p in m._parameters.values() if p is not None)
    shared = {
        name
        for name, m in model.named_modules()
        if any(p is not None and owners[id(p)] > 1 for p in m._parameters.values())
    }
    return shared | {str(node.target).rpartition(".")[0] for node in graph.nodes if node.op == "get_attr"}

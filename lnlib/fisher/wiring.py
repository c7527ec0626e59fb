r"""Which layers write into norms and into nothing else, read off the graph that autograd records of one pass.

A *writer* is a linear, embedding or convolution layer. Its output may be added to others' (a residual stream)
on the way, if every path of it ends in a norm. What is found holds for every input that takes the same path
through the model's code. Autograd does not record what the model detaches, so that such a path is not seen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from lnlib.fisher.network import Network, argument, check_outputs, derivable
from lnlib.fisher.norm_layer import epsilon, standardized
from lnlib.linear import Linear
from lnlib.norms.channel_modules import GroupNorm
from lnlib.norms.modules import LayerNorm, RMSNorm

__all__ = ["Reader", "Writer", "wiring"]

# By exact type: a subclass may compute something else.
UNITS_LAST = (nn.Linear, Linear, nn.Embedding)
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
READERS = (nn.LayerNorm, LayerNorm, nn.RMSNorm, RMSNorm, nn.GroupNorm, GroupNorm)
SUMS = ("AddBackward0", "SubBackward0", "CloneBackward0", "AliasBackward0")


@dataclass
class Reader:
    """A norm as one pass met it.

    Attributes:
        name: in `named_modules`. units: how many. groups: sets of them that are standardized by themselves.
        centered: the mean is taken off. residual: the largest eps / (variance + eps).
        last, channels: the units are the input's last axis, its axis 1; both or neither is possible.
        sources: the writers it reads. closed: it reads nothing else.
    """

    name: str
    units: int
    groups: int
    centered: bool
    last: bool
    channels: bool
    residual: float = 0.0
    sources: set[str] = field(default_factory=set)
    closed: bool = True


@dataclass
class Writer:
    """A layer as one pass met it: the norms that read it, and whether nothing else does."""

    name: str
    module: nn.Module
    readers: set[str] = field(default_factory=set)
    only_norms: bool = True

    @property
    def convolution(self) -> bool:
        """The units are channels, at every position of space."""
        return type(self.module) in CONVOLUTIONS

    @property
    def units(self) -> int:
        """How many there are."""
        return self.module.get_parameter("weight").shape[self.axis]

    @property
    def axis(self) -> int:
        """That of the units in the weight."""
        return 1 if isinstance(self.module, nn.Embedding) else 0


class _Mark(torch.autograd.Function):
    """The identity, with a label in the graph; recorded even where nothing before it has a gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, _: Tensor, label: "Writer | Reader") -> Tensor:
        ctx.label = label
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *d: Any) -> Any:
        return d[0], None, None


def wiring(net: Network) -> tuple[dict[str, Writer], dict[str, Reader]]:
    """The writers and readers of a network, by name, from one pass over its cases."""
    writers = {name: Writer(name, m) for name, m in net.model.named_modules() if _writes(m)}
    readers: dict[str, Reader] = {}
    anchor = torch.zeros((), requires_grad=True)

    def write(writer: Writer) -> Any:
        return lambda _m, _args, out: _Mark.apply(out, anchor, writer)

    def read(name: str) -> Any:
        def hook(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
            a = argument(args, kwargs)
            reader = readers.setdefault(name, _reader(name, module, a))
            _, scale = standardized(module, a.detach())
            share = epsilon(module, scale.dtype) * float(scale.square().max())
            reader.residual = max(reader.residual, share)
            marked = _Mark.apply(a, anchor, reader)
            named = {key: marked if v is a else v for key, v in kwargs.items()}
            return tuple(marked if v is a else v for v in args), named

        return hook

    hooks = [w.module.register_forward_hook(write(w)) for w in writers.values()]
    norms = ((name, m) for name, m in net.model.named_modules() if type(m) in READERS)
    hooks += [m.register_forward_pre_hook(read(name), with_kwargs=True) for name, m in norms]
    z, _ = _pass(net, hooks)
    check_outputs(z, len(net.X), net.like)
    _follow(z)
    for name in _used_elsewhere(net, writers):
        writers[name].only_norms = False
    return {name: w for name, w in writers.items() if w.readers}, readers


def _pass(net: Network, hooks: Sequence[RemovableHandle]) -> tuple[Tensor, dict[str, Tensor]]:
    """The predictions, with their graph, and the parameters in it; the hooks are removed afterwards."""
    values = {name: v.clone().requires_grad_() for name, v in net.values.items()}
    try:
        with torch.enable_grad(), derivable():
            return net.outputs(values, net.X), values
    finally:
        for hook in hooks:
            hook.remove()


def _writes(module: nn.Module) -> bool:
    if type(module) not in UNITS_LAST + CONVOLUTIONS or module._parameters.get("weight") is None:
        return False
    return not (isinstance(module, nn.Embedding) and module.max_norm is not None)


def _reader(name: str, module: Any, a: Tensor) -> Reader:
    if isinstance(module, nn.GroupNorm):
        return Reader(name, module.num_channels, module.num_groups, True, last=a.ndim == 2, channels=True)
    *others, units = module.normalized_shape
    return Reader(name, units, 1, isinstance(module, nn.LayerNorm), last=not others, channels=False)


def _follow(z: Tensor) -> None:
    """Fill in who reads whom, along sums only."""
    root: Any = z.grad_fn
    consumers: dict[Any, list[Any]] = {root: []}
    stack = [root] if root is not None else []
    while stack:
        node = stack.pop()
        for before in _sources(node):
            if before is not None:
                if before not in consumers:
                    stack.append(before)
                consumers.setdefault(before, []).append(node)
    for mark in consumers:
        label = _label(mark)
        if isinstance(label, Writer):
            label.only_norms &= mark is not root
            for end in _ends(mark, consumers.__getitem__):
                reader = _label(end)
                if isinstance(reader, Reader):
                    label.readers.add(reader.name)
                else:
                    label.only_norms = False
        elif isinstance(label, Reader):
            for end in _ends(mark, _sources):
                writer = _label(end)
                if isinstance(writer, Writer):
                    label.sources.add(writer.name)
                else:
                    label.closed = False


def _label(node: Any) -> "Writer | Reader | None":
    return getattr(node, "label", None)


def _sources(node: Any) -> list[Any]:
    """What a node of the graph was computed from; a mark's second input is its anchor."""
    before = [source for source, _ in node.next_functions]
    return before if _label(node) is None else before[:1]


def _ends(start: Any, neighbors: Any) -> Iterator[Any]:
    """The first nodes on each path from `start` that are no sums; None where a path leaves the graph."""
    seen, stack = set(), list(neighbors(start))
    while stack:
        node = stack.pop()
        if node is None or node.name() not in SUMS:
            yield node
        elif node not in seen:
            seen.add(node)
            following = neighbors(node)
            stack += following or [None]


def _used_elsewhere(net: Network, writers: dict[str, Writer]) -> set[str]:
    """Writers whose parameters another module owns, or whose predictions see them past the layer's output."""
    owners: dict[int, int] = {}
    for module in net.model.modules():
        for p in module._parameters.values():
            if p is not None:
                owners[id(p)] = owners.get(id(p), 0) + 1

    def cut(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor) -> Tensor:
        # keeps the way through the layer's input, without its parameters
        return out.detach() + 0 * argument(args, kwargs).sum()

    z, values = _pass(net, [w.module.register_forward_hook(cut, with_kwargs=True) for w in writers.values()])
    parts = list(values.values())
    found = torch.autograd.grad(z.sum(), parts, allow_unused=True) if z.requires_grad else [None] * len(parts)
    seen = {name for name, grad in zip(values, found, strict=True) if grad is not None}
    return {
        name
        for name, writer in writers.items()
        for key, p in writer.module._parameters.items()
        if p is not None and (owners[id(p)] > 1 or f"{name}.{key}".lstrip(".") in seen)
    }

r"""A network as a function of its parameters: what its curvature is made of, and which networks have one.

Cases must not depend on each other or on chance: the prediction for a case is a function of that case and of
the parameters. Batch norm in training mode and active dropout are neither.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel

__all__ = ["Network", "argument", "check_outputs", "derivable", "network"]


@dataclass(frozen=True)
class Network:
    """A model, its cases, and those of its parameters that vary, in the order of `named_parameters`.

    Attributes:
        model: the module. X: cases, the first axis.
        values: the parameters that vary, without gradient.
    """

    model: nn.Module
    X: Shaped[Tensor, "N ..."]
    values: dict[str, Tensor]

    @property
    def size(self) -> int:
        """P, how many numbers vary."""
        return sum(v.numel() for v in self.values.values())

    @property
    def like(self) -> Tensor:
        """A tensor of the parameters' type, on their device."""
        return next(iter(self.values.values()))

    @property
    def theta(self) -> Float[Tensor, " P"]:
        """The parameters as one vector."""
        return self.pack(self.values)

    def outputs(self, values: Mapping[str, Tensor], X: Shaped[Tensor, "n ..."]) -> Float[Tensor, "n K"]:
        """The predictions for some cases at other parameters."""
        return functional_call(self.model, dict(values), (X,))

    def pack(self, parts: Mapping[str, Tensor], axes: int = 0) -> Float[Tensor, "*K P"]:
        """Arrays shaped like the parameters, behind so many leading axes, as vectors."""
        return torch.cat([parts[name].flatten(axes) for name in self.values], -1)

    def unpack(self, V: Float[Tensor, "*K P"]) -> dict[str, Tensor]:
        """The inverse of `pack`."""
        sizes = [v.numel() for v in self.values.values()]
        parts = zip(self.values.items(), V.split(sizes, -1), strict=True)
        return {name: part.reshape(*V.shape[:-1], *v.shape) for (name, v), part in parts}


def network(model: nn.Module, X: Shaped[Tensor, "N ..."], parameters: Sequence[str] | None) -> Network:
    """A model at its cases with the named parameters free; raises where it has no curvature of its own."""
    if not isinstance(X, Tensor) or X.ndim == 0 or len(X) == 0:
        found = f"shape {tuple(X.shape)}" if isinstance(X, Tensor) else f"type {type(X).__name__}"
        raise ValueError(f"X has {found}; give a tensor whose first axis is the cases, at least one")
    reason = _unsuitable(model)
    if reason:
        raise ValueError(reason)
    return Network(model, X, _chosen(model, parameters))


def argument(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What a layer of one input was called with, by position or by name."""
    return (*args, *kwargs.values())[0]


def _chosen(model: nn.Module, names: Sequence[str] | None) -> dict[str, Tensor]:
    """The parameters of these names, all for None, detached; one type and finite."""
    own = dict(model.named_parameters())
    unknown = [name for name in names or () if name not in own]
    if unknown or not own or (names is not None and not names):
        raise ValueError(f"parameters {unknown} are none of the model's; it has {', '.join(own) or 'none'}")
    values = {name: p.detach() for name, p in own.items() if names is None or name in names}
    types = {v.dtype for v in values.values()}
    if len(types) > 1 or not types <= {torch.float32, torch.float64}:
        raise TypeError(
            f"the parameters are {', '.join(sorted(map(str, types)))}; the curvature needs one type, "
            "torch.float64 or torch.float32: model.double()"
        )
    endless = [name for name, v in values.items() if not bool(torch.isfinite(v).all())]
    if endless:
        raise ValueError(f"parameters {endless} contain NaN or infinity; load finite ones")
    return values


def _unsuitable(model: nn.Module) -> str:
    """Why the predictions of a model are no function of one case each; empty if they are."""
    for name, module in model.named_modules():
        label = f"{type(module).__name__} {name!r}"
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and (
            module.training or module.running_mean is None
        ):
            return (
                f"{label} normalizes by the statistics of the batch, so that the cases are coupled; "
                "call model.eval(), with running statistics"
            )
        rate = getattr(module, "p" if isinstance(module, nn.modules.dropout._DropoutNd) else "dropout", 0)
        if module.training and isinstance(rate, float) and rate > 0:
            return f"{label} drops units at random (rate {rate:g}); call model.eval()"
    return ""


def check_outputs(z: Any, cases: int, like: Tensor) -> None:
    """Refuse predictions that are not one row of numbers a case."""
    if not isinstance(z, Tensor) or z.ndim != 2 or len(z) != cases or 0 in z.shape:
        found = f"shape {tuple(z.shape)}" if isinstance(z, Tensor) else f"type {type(z).__name__}"
        raise ValueError(
            f"the model's output has {found}; it must be (N, K) with N = {cases} cases: "
            "wrap the model so that it returns the K natural parameters of each case"
        )
    if z.dtype != like.dtype:
        raise TypeError(f"the outputs are {z.dtype} and the parameters {like.dtype}; compute in one type")


@contextmanager
def derivable() -> Iterator[None]:
    """Attention on the paths of torch that have derivatives of all kinds; the fused ones lack some."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)

r"""One norm layer inside a network: its input, standardized, and what the predictions make of it."""

import math
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.fisher.linearization import standardized_rows
from lnlib.fisher.network import Network, argument, check_outputs, derivable

__all__ = ["NORM_LAYERS", "NormLayer", "epsilon", "norm_layer", "standardized"]

#: The layers that standardize each case by itself; lnlib's are subclasses of torch's.
NORM_LAYERS = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm)


@dataclass(frozen=True)
class NormLayer:
    r"""A norm layer at some cases, T positions each: $y_{nt} = g\odot\hat a_{nt} + b$.

    Attributes:
        module: the layer. unit: $\hat a$, (N, T, H). scale: $1/\sigma$, (N, T, 1) or for groups (N, T, H).
        back: $B_{nt} = \partial z_n/\partial y_{nt}$, (N, T, K, H). outputs: z, (N, K).
        inputs: of the linear layer in front, (N, T, D), if one was named.
    """

    module: nn.LayerNorm | nn.RMSNorm | nn.GroupNorm
    unit: Float[Tensor, "N T H"]
    scale: Float[Tensor, "N T _"]
    back: Float[Tensor, "N T K H"]
    outputs: Float[Tensor, "N K"]
    inputs: Float[Tensor, "N T D"] | None


def norm_layer(net: Network, norm: str, linear: str | None = None) -> NormLayer:
    """Run the network and K backward passes; raises ValueError for a layer that it does not have."""
    modules = dict(net.model.named_modules())
    module = modules.get(norm)
    if not isinstance(module, NORM_LAYERS):
        found = [name for name, m in modules.items() if isinstance(m, NORM_LAYERS)]
        raise ValueError(
            f"{norm!r} is no layer, RMS or group norm of the model; it has {', '.join(found) or 'none'}"
        )
    before = modules.get(linear) if linear is not None else None
    if linear is not None and not isinstance(before, nn.Linear):
        raise ValueError(f"{linear!r} is no torch.nn.Linear of the model; name the one in front of {norm!r}")
    into: list[Tensor] = []
    made: list[Tensor] = []
    fed: list[Tensor] = []
    summed: list[Tensor] = []

    def cut(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor) -> Tensor:
        into.append(argument(args, kwargs))
        made.append(out.detach().requires_grad_())
        return made[-1]

    def tap(_: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Tensor) -> Tensor:
        fed.append(argument(args, kwargs).detach())
        summed.append(out.detach().requires_grad_())
        return summed[-1]

    hooks = [module.register_forward_hook(cut, with_kwargs=True)]
    if before is not None:
        hooks.append(before.register_forward_hook(tap, with_kwargs=True))
    try:
        with torch.enable_grad(), derivable():
            z = net.model(net.X)
            check_outputs(z, len(net.X), net.like)
            _once(norm, made)
            if linear is not None:
                _once(linear, summed)
                _check_chain(linear, norm, summed[0], into[0], z)
            rows = [
                torch.autograd.grad(z[:, k].sum(), made[0], retain_graph=True, allow_unused=True)[0]
                for k in range(z.shape[1])
            ]
    finally:
        for hook in hooks:
            hook.remove()
    if rows[0] is None:
        raise ValueError(f"no prediction depends on {norm!r}; its curvature is 0")
    unit, scale = standardized(module, into[0].detach())
    back = torch.stack([_positions(module, row) for row in rows], 2)
    inputs = fed[0].reshape(len(fed[0]), -1, fed[0].shape[-1]) if fed else None
    return NormLayer(module, unit, scale, back, z.detach(), inputs)


def _once(name: str, calls: list[Tensor]) -> None:
    """Refuse a layer that is never called, or shared by several places of the network."""
    if len(calls) != 1:
        raise ValueError(
            f"{name!r} is called {len(calls)} times in one pass, and its block is that of one call; "
            "use GGN with parameters=[...], which takes shared layers"
        )


def _check_chain(linear: str, norm: str, made: Tensor, into: Tensor, z: Tensor) -> None:
    """Refuse a linear layer whose output is not the norm's input, or goes elsewhere, too."""
    if made is not into:
        raise ValueError(
            f"the input of {norm!r} is not the output of {linear!r} itself; the block in closed form is that "
            "of a linear layer directly in front: use GGN with parameters=[...]"
        )
    if torch.autograd.grad(z.sum(), made, retain_graph=True, allow_unused=True)[0] is not None:
        raise ValueError(
            f"the output of {linear!r} reaches the predictions past {norm!r}, too (a residual connection); "
            "use GGN with parameters=[...]"
        )


def epsilon(module: nn.LayerNorm | nn.RMSNorm | nn.GroupNorm, dtype: torch.dtype) -> float:
    """What the layer adds to a variance; of RMSNorm None means the unit round-off."""
    return torch.finfo(dtype).eps if module.eps is None else module.eps


def _units(module: nn.LayerNorm | nn.RMSNorm) -> int:
    """H, over all axes that the layer standardizes."""
    return math.prod(module.normalized_shape)


def _positions(module: nn.LayerNorm | nn.RMSNorm | nn.GroupNorm, y: Tensor) -> Float[Tensor, "N T H"]:
    """An output of the layer as positions and units."""
    if isinstance(module, nn.GroupNorm):
        return y.reshape(len(y), y.shape[1], -1).mT
    return y.reshape(len(y), -1, _units(module))


def standardized(
    module: nn.LayerNorm | nn.RMSNorm | nn.GroupNorm, a: Tensor
) -> tuple[Float[Tensor, "N T H"], Float[Tensor, "N T _"]]:
    r"""$\hat a$ and $1/\sigma$ of the layer's input."""
    eps = epsilon(module, a.dtype)
    if isinstance(module, nn.GroupNorm):
        rows = a.reshape(len(a) * module.num_groups, -1)
        unit, scale = standardized_rows(rows, True, eps)
        return _positions(module, unit.view_as(a)), _positions(module, scale.expand_as(rows).reshape(a.shape))
    H = _units(module)
    unit, scale = standardized_rows(a.reshape(-1, H), isinstance(module, nn.LayerNorm), eps)
    return unit.view(len(a), -1, H), scale.view(len(a), -1, 1)

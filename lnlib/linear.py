r"""A linear layer whose three products run on oneDNN: the peer of :class:`torch.nn.Linear`."""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.matmul import onednn, product

__all__ = ["Linear", "linear"]

SMALL = 2**21  # multiplications below which three calls from Python outweigh what oneDNN saves


class Linear(nn.Linear):
    r"""$a = xW^\top + b$: :class:`torch.nn.Linear`, its products by :func:`lnlib.matmul.product`.

    Same constructor, parameters and `state_dict`. In float32 on an AMD processor a training step takes about
    half the time; elsewhere (small products, other types, other devices, autocast, `torch.func`,
    `torch.compile`) it is torch's own layer.

    *Source* Eq. (1).

    >>> layer = Linear(2, 1, bias=False)
    >>> _ = layer.load_state_dict({"weight": torch.tensor([[3.0, 4.0]])})
    >>> layer(torch.tensor([[1.0, 1.0]])).detach()
    tensor([[7.]])
    """

    def forward(self, x: Float[Tensor, "*N D"]) -> Float[Tensor, "*N H"]:
        return linear(x, self.weight, self.bias)


def linear(
    x: Float[Tensor, "*N D"], weight: Float[Tensor, "H D"], bias: Float[Tensor, " H"] | None = None
) -> Float[Tensor, "*N H"]:
    """`torch.nn.functional.linear`, by :func:`lnlib.matmul.product` where that applies."""
    if not _applies(x, weight):
        return F.linear(x, weight, bias)
    a = _Product.apply(x.flatten(0, -2), weight)
    a = a if bias is None else a + bias
    return a.unflatten(0, x.shape[:-1]) if x.ndim != 2 else a


def _applies(x: Tensor, weight: Tensor) -> bool:
    return (
        not torch.compiler.is_compiling()  # first: what follows would bound the sizes of an exported graph
        and onednn()
        and x.ndim >= 2
        and x.numel() * weight.shape[0] >= SMALL
        and type(x) is Tensor
        and x.dtype == weight.dtype == torch.float32
        and x.device.type == weight.device.type == "cpu"
        and x.shape[-1] == weight.shape[1]  # else torch's own error
        and not torch.is_autocast_enabled("cpu")
        and not torch._C._functorch.peek_interpreter_stack()
    )


class _Product(torch.autograd.Function):
    """x W', and its gradients; the gradients are products of the same kind, so they differentiate again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return product(x, weight.mT)

    @staticmethod
    def backward(ctx: Any, d: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        to_x, to_weight = ctx.needs_input_grad
        d_x = product(d, weight) if to_x else None
        return d_x, product(d.mT, x) if to_weight else None

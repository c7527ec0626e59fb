"""Matrix products in float32 on the CPU by oneDNN: on AMD's processors twice as fast as torch's MKL.

`torch.mm` calls MKL there, which takes a slow path on processors that are not Intel's. Python reaches oneDNN
by one operator outside torch's documented interface; where it is missing, `@` serves.
"""

import torch
from jaxtyping import Float
from torch import Tensor

__all__ = ["onednn", "product"]

SMALL = 2**15  # multiplications below which the operator's overhead outweighs its speed
ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def onednn() -> bool:
    """Whether oneDNN is there and not switched off by `torch.backends.mkldnn.flags`."""
    return ONEDNN and bool(torch.backends.mkldnn.enabled)


def product(A: Float[Tensor, "M K"], B: Float[Tensor, "K N"]) -> Float[Tensor, "M N"]:
    """`A @ B`, by oneDNN where it applies: float32 on the CPU, nothing to differentiate.

    >>> product(torch.ones(2, 3), torch.ones(3, 1)).flatten()
    tensor([3., 3.])
    """
    single = A.dtype == B.dtype == torch.float32 and A.device.type == B.device.type == "cpu"
    differentiable = torch.is_grad_enabled() and (A.requires_grad or B.requires_grad)  # it has no derivative
    if not (single and onednn()) or differentiable or A.numel() * B.shape[1] < SMALL or B.numel() == 0:
        return A @ B
    weight = B.mT
    if not (weight.is_contiguous() or B.is_contiguous()):  # a weight with gaps takes 1000 times as long
        weight = weight.contiguous()
    return torch.ops.mkldnn._linear_pointwise(A, weight, None, "none", [], "")

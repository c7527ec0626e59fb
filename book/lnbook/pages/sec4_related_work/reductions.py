r"""Which numbers share a mean: five normalizations of one tensor, whatever its layout; and what padding does.

A tensor has cases N, channels C and positions P; positions are the axes H and W of a picture, or T of a
sequence. Each normalization is $\bar a = (a - \mu)/\sqrt{\sigma^2 + \epsilon}$, and what it takes its $\mu$
and $\sigma$ over says everything about it (`FIVE`). A *layout* names the axes in their order.

*Source* Eq. (3) with other sets of units; batch norm for pictures is Ioffe and Szegedy's (2015).
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import group_norm, instance_norm, layer_norm

# Titles, and what is averaged over: some of "N", "C" and "P".
FIVE = {
    "batch": ("batch norm", "NP"),
    "layer": ("layer norm over C, H, W", "CP"),
    "instance": ("instance norm", "P"),
    "group": ("group norm", "CP"),  # of its channels those of one group
    "channels": ("layer norm over C", "C"),
}


def axes(over: str, layout: str) -> tuple[int, ...]:
    """The numbers of the axes that letters name: some of "N", "C" and "P", which is every position axis.

    >>> axes("NP", "NCHW"), axes("NP", "NHWC"), axes("C", "NTC")
    ((0, 2, 3), (0, 1, 2), (2,))
    """
    return tuple(k for k, axis in enumerate(layout) if (axis if axis in "NC" else "P") in over)


def normalize(
    a: Float[Tensor, "..."], norm: str, layout: str = "NCHW", *, groups: int = 2, eps: float = 1e-5
) -> Float[Tensor, "..."]:
    r"""One of the five normalizations, on a tensor of any layout."""
    case, channel = axes("N", layout) + axes("C", layout)
    first = a.movedim((case, channel), (0, 1))
    run = {
        "batch": lambda: batch_norm(first, eps=eps),
        "layer": lambda: group_norm(first, 1, eps=eps),
        "instance": lambda: instance_norm(first, eps=eps),
        "group": lambda: group_norm(first, groups, eps=eps),
        "channels": lambda: layer_norm(first, eps=eps, dim=1),
    }
    return run[norm]().movedim((0, 1), (case, channel))


def means(norm: str, shape: Sequence[int], groups: int = 2) -> int:
    """How many means, and as many standard deviations, one of the five computes for pictures (N, C, H, W).

    >>> [means(norm, (8, 64, 14, 14), groups=4) for norm in FIVE]
    [64, 8, 512, 32, 1568]
    """
    within = axes(FIVE[norm][1], "NCHW")
    sets = math.prod(size for k, size in enumerate(shape) if k not in within)
    return sets * groups if norm == "group" else sets


def against_torch(a: Float[Tensor, "N C H W"], norm: str, layer: nn.Module) -> float:
    """The largest difference of one of the five from a layer of `torch`, in outputs and in gradients."""
    weights = torch.linspace(-1, 1, a.numel(), dtype=a.dtype).sin().reshape(a.shape)
    x = a.detach().clone().requires_grad_()
    theirs = layer(x.movedim(1, -1)).movedim(-1, 1) if norm == "channels" else layer(x)
    off = normalize(x, norm) - theirs
    (gradient,) = torch.autograd.grad((off * weights).sum(), x)
    return float(torch.stack([off.detach(), gradient]).abs().max())


def sequence_change(steps: Float[Tensor, "N T C"], norm: str, share: float) -> float:
    r"""How far zeros behind a sequence move the normalized values of its own steps."""
    cases, length, channels = steps.shape
    zeros = steps.new_zeros(cases, round(length * share / (1 - share)), channels)
    padded = normalize(torch.cat([steps, zeros], 1), norm, "NTC")[:, :length]
    still = normalize(steps, norm, "NTC")
    return float((padded - still).norm() / still.norm())

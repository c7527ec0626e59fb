r"""Which numbers share a mean: five normalizations of one tensor, whatever the order of its axes.

A tensor has cases N, channels C and positions P; positions are the axes H and W of a picture, or T of a
sequence. Each normalization is $\bar a = g_c\,(a - \mu)/\sqrt{\sigma^2 + \epsilon} + b_c$, and what it
takes its $\mu$ and $\sigma$ over says everything about it. A *layout* names the axes in their order.

==============  ===========================  ==========
name            one mean and std over        of each
==============  ===========================  ==========
``batch``       cases and positions          channel
``layer``       channels and positions       case
``instance``    positions                    case, channel
``group``       a group's channels, and      case, group
                positions
``channels``    channels                     case, position
==============  ===========================  ==========

*Source* Eq. (3) with other sets of units; batch norm for pictures is Ioffe and Szegedy's (2015).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.norms.batch import batch_norm
from lnlib.norms.channel_norms import group_norm, instance_norm
from lnlib.norms.normalize import layer_norm

__all__ = ["FIVE", "Reduction", "against_torch", "axes", "means", "normalize"]


class Reduction(NamedTuple):
    """A normalization by what it averages over: some of "N", "C" and "P"."""

    title: str
    over: str


FIVE = {
    "batch": Reduction("batch norm", "NP"),
    "layer": Reduction("layer norm over C, H, W", "CP"),
    "instance": Reduction("instance norm", "P"),
    "group": Reduction("group norm", "CP"),  # of its channels those of one group
    "channels": Reduction("layer norm over C", "C"),
}


def axes(over: str, layout: str) -> tuple[int, ...]:
    """The numbers of the axes that letters name.

    *Source* ours.

    Args:
        over: some of "N", "C" and "P", which stands for every position axis.
        layout: the axes in their order, such as "NCHW", "NHWC" or "NTC".

    Returns:
        What `Tensor.mean` takes as its `dim`.

    Raises:
        ValueError: the layout lacks N, C or positions, or has an axis twice.

    >>> axes("NP", "NCHW"), axes("NP", "NHWC"), axes("C", "NTC")
    ((0, 2, 3), (0, 1, 2), (2,))
    """
    if not {"N", "C"} < set(layout) or len(set(layout)) < len(layout):
        raise ValueError(
            f"a layout has N, C and at least one position axis, each once, and this is {layout!r}; "
            f"give one such as 'NCHW', 'NHWC' or 'NTC'"
        )
    return tuple(k for k, axis in enumerate(layout) if (axis if axis in "NC" else "P") in over)


def normalize(
    a: Float[Tensor, "..."],
    norm: str,
    layout: str = "NCHW",
    *,
    groups: int = 2,
    gain: Float[Tensor, " C"] | None = None,
    bias: Float[Tensor, " C"] | None = None,
    eps: float = 1e-5,
) -> Float[Tensor, "..."]:
    r"""One of the five normalizations, on a tensor of any layout.

    $\bar a = g_c\,(a - \mu)/\sqrt{\sigma^2 + \epsilon} + b_c$, with the $\mu$ and $\sigma$ of the set that
    `norm` names. The channels are moved to where :mod:`lnlib` has them, and back.

    *Source* Eqs. (2) and (3); ours.

    Args:
        a: the tensor, one axis a letter of the layout.
        norm: a key of `FIVE`.
        layout: the axes of `a` in their order.
        groups: of "group"; divides the channels.
        gain, bias: one number a channel; 1 and 0 where left out.
        eps: added to the variance.

    Returns:
        The normalized values, in the layout of `a`.

    Raises:
        ValueError: no such normalization, or a layout that does not fit `a`.

    >>> import torch
    >>> a = torch.tensor([[[1.0, 10.0], [3.0, 30.0]]])  # a case, two steps, two channels
    >>> normalize(a, "instance", "NTC", eps=0.0)
    tensor([[[-1., -1.],
             [ 1.,  1.]]])
    >>> normalize(a, "channels", "NTC", eps=0.0)
    tensor([[[-1.,  1.],
             [-1.,  1.]]])
    """
    case, channel = axes("N", layout) + axes("C", layout)
    if len(layout) != a.ndim:
        raise ValueError(
            f"normalize: a layout names each axis, and {layout!r} has {len(layout)} for shape "
            f"{tuple(a.shape)}; give {a.ndim} letters"
        )
    if norm not in FIVE:
        raise ValueError(f"normalize: there is no normalization {norm!r}; choose one of {list(FIVE)}")
    first = a.movedim((case, channel), (0, 1))
    run = {
        "batch": lambda: batch_norm(first, gain, bias, eps),
        "layer": lambda: group_norm(first, 1, gain, bias, eps),
        "instance": lambda: instance_norm(first, gain, bias, eps),
        "group": lambda: group_norm(first, groups, gain, bias, eps),
        "channels": lambda: layer_norm(first, gain, bias, eps, dim=1),
    }
    return run[norm]().movedim((0, 1), (case, channel))


def means(norm: str, shape: Sequence[int], layout: str, groups: int = 2) -> int:
    """How many means, and as many standard deviations, one of the five computes.

    *Source* ours.

    Args:
        norm: a key of `FIVE`.
        shape: of the tensor.
        layout: its axes in their order.
        groups: of "group".

    Returns:
        The number of sets of values.

    >>> [means(norm, (8, 64, 14, 14), "NCHW", groups=4) for norm in FIVE]
    [64, 8, 512, 32, 1568]
    """
    within = axes(FIVE[norm].over, layout)
    sets = math.prod(size for k, size in enumerate(shape) if k not in within)
    return sets * groups if norm == "group" else sets


def against_torch(a: Float[Tensor, "N C *space"], norm: str, layer: nn.Module, groups: int = 2) -> float:
    """The largest difference of one of the five from a layer of `torch`, in outputs and in gradients.

    *Source* ours.

    Args:
        a: cases by channels by positions.
        norm: a key of `FIVE`.
        layer: of torch, with gain 1 and bias 0; for "channels" it gets the channels last.
        groups: of "group".

    Returns:
        The largest difference, also of the gradients of one weighted sum of the outputs.

    >>> a = torch.randn(2, 4, 3, dtype=torch.float64)
    >>> against_torch(a, "channels", nn.LayerNorm(4).double()) < 1e-12
    True
    >>> against_torch(a, "layer", nn.GroupNorm(4, 4).double()) > 0.1
    True
    """
    weights = torch.linspace(-1, 1, a.numel(), dtype=a.dtype).sin().reshape(a.shape)
    results = []
    for ours in (True, False):
        x = a.detach().clone().requires_grad_()
        if ours:
            out = normalize(x, norm, "NC" + "DHW"[5 - a.ndim :], groups=groups)
        else:
            out = layer(x.movedim(1, -1)).movedim(-1, 1) if norm == "channels" else layer(x)
        (gradient,) = torch.autograd.grad((out * weights).sum(), x)
        results.append(torch.stack([out.detach(), gradient]))
    return float((results[0] - results[1]).abs().max())

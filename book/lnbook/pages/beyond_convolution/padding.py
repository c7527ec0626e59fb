"""What zeros that only fill up a shape do to the normalized values of what is real."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import conv2d

from lnbook.pages.beyond_convolution.reductions import normalize


def sequence_change(steps: Float[Tensor, "N T C"], norm: str, share: float) -> float:
    r"""How far zeros behind a sequence move the normalized values of its own steps."""
    cases, length, channels = steps.shape
    zeros = steps.new_zeros(cases, round(length * share / (1 - share)), channels)
    padded = normalize(torch.cat([steps, zeros], 1), norm, "NTC")[:, :length]
    return _relative(padded, normalize(steps, norm, "NTC"))


def border_change(pictures: Float[Tensor, "N D h w"], kernels: Float[Tensor, "C D k k"], norm: str) -> float:
    r"""How far zeros around a picture move the normalized values in its center.

    The convolution, of odd size, is taken with as many zeros around the picture as keep its size, and with
    none. Where the kernel lies inside the picture both have the same summed inputs; of these is the change.
    """
    edge = kernels.shape[-1] // 2
    padded, bare = conv2d(pictures, kernels, padding=edge), conv2d(pictures, kernels)
    height, width = bare.shape[2:]
    inside = normalize(padded, norm)[..., edge : edge + height, edge : edge + width]
    return _relative(inside, normalize(bare, norm))


def _relative(moved: Tensor, still: Tensor) -> float:
    return float((moved - still).norm() / still.norm())

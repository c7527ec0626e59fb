"""What zeros that only fill up a shape do to the normalized values of what is real."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import conv2d

from lnbook.pages.beyond_convolution.reductions import normalize

__all__ = ["border_change", "sequence_change"]


def sequence_change(steps: Float[Tensor, "N T C"], norm: str, share: float) -> float:
    r"""How far zeros behind a sequence move the normalized values of its own steps.

    $\lVert \bar a' - \bar a \rVert / \lVert \bar a \rVert$ over the T real steps, with zeros behind them and
    without.

    *Source* ours.

    Args:
        steps: sequences of one length.
        norm: a key of `FIVE`.
        share: of the padded sequence that is padding, rounded to whole steps; below 1.

    Returns:
        The change, relative to the size without padding.

    Raises:
        ValueError: a share that leaves nothing real, or is negative.

    >>> steps = torch.tensor([[[1.0, 3.0], [-1.0, 5.0]]])
    >>> sequence_change(steps, "channels", 0.5)
    0.0
    >>> round(sequence_change(steps[..., :1], "instance", 0.5), 4)  # 1 / sqrt(0.5) - 1
    0.4142
    """
    if not 0 <= share < 1:
        raise ValueError(
            f"sequence_change: a share from 0 up to, but not, 1 can be padding, and it is {share}; give less"
        )
    cases, length, channels = steps.shape
    zeros = steps.new_zeros(cases, round(length * share / (1 - share)), channels)
    padded = normalize(torch.cat([steps, zeros], 1), norm, "NTC")[:, :length]
    return _relative(padded, normalize(steps, norm, "NTC"))


def border_change(pictures: Float[Tensor, "N D h w"], kernels: Float[Tensor, "C D k k"], norm: str) -> float:
    r"""How far zeros around a picture move the normalized values in its center.

    The convolution is taken with as many zeros around the picture as keep its size, and with none. Where
    the kernel lies inside the picture both have the same summed inputs; of these the change is taken.

    *Source* ours.

    Args:
        pictures: at least as large as the kernels.
        kernels: square, of odd size.
        norm: a key of `FIVE`.

    Returns:
        The change, relative to the size without zeros.

    Raises:
        ValueError: kernels of even size.

    >>> pictures = torch.arange(32.0).reshape(2, 1, 4, 4)
    >>> kernels = torch.stack([torch.ones(1, 3, 3), torch.eye(3)[None]])
    >>> [border_change(pictures, kernels, norm) > 1e-6 for norm in ("batch", "channels")]
    [True, False]
    """
    size = kernels.shape[-1]
    if size % 2 == 0:
        raise ValueError(
            f"border_change: a kernel has a center if its size is odd, and it is {size}; add a row and a "
            f"column"
        )
    edge = size // 2
    padded, bare = conv2d(pictures, kernels, padding=edge), conv2d(pictures, kernels)
    height, width = bare.shape[2:]
    inside = normalize(padded, norm)[..., edge : edge + height, edge : edge + width]
    return _relative(inside, normalize(bare, norm))


def _relative(moved: Tensor, still: Tensor) -> float:
    return float((moved - still).norm() / still.norm())

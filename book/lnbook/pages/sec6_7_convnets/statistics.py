r"""Section 6.7's explanation, measured: are units near the boundary rarely on, and what makes them differ?

A layer's summed inputs $a$ and what its ReLU receives, $z$, have axes N cases, C channels, h x w positions.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def reaches_over(size: int, strides: Sequence[int]) -> list[Bool[Tensor, "_ _"]]:
    r"""Which units see past the edge of a picture, for each of a stack of 3 x 3 convolutions.

    The first unit of a layer looks at pixels from $s_l = s_{l-1} - j_{l-1}$ on, over
    $r_l = r_{l-1} + 2 j_{l-1}$ pixels, and its neighbor begins $j_l = j_{l-1}\,\mathrm{stride}_l$ later. The
    square picture has `size` pixels a side, each layer one ring of padding. True: over the edge.

    >>> reaches_over(4, [1])[0].int()
    tensor([[1, 1, 1, 1],
            [1, 0, 0, 1],
            [1, 0, 0, 1],
            [1, 1, 1, 1]], dtype=torch.int32)
    """
    start, reach, jump, units, found = 0, 1, 1, size, []
    for stride in strides:
        start, reach, jump = start - jump, reach + 2 * jump, jump * stride
        units = (units - 1) // stride + 1
        first = start + jump * torch.arange(units)
        over = (first < 0) | (first + reach > size)
        found.append(over[:, None] | over)
    return found


def shares(z: Float[Tensor, "N C h w"], over: Bool[Tensor, "h w"]) -> dict[str, float]:
    r"""How much of a layer's variance is a difference between kinds of units.

    `channels`: $\mathrm{Var}_c\,E[z\mid c]$; `positions`: $\mathrm{Var}_p\,E[z\mid p]$; `border`: the part of
    the latter that lies between the units at the border and the others; each divided by the variance of all
    values of the layer. Layer norm keeps such differences, batch norm removes the first.

    >>> z = torch.tensor([1.0, 3.0]).reshape(1, 2, 1, 1).expand(5, 2, 3, 3)
    >>> shares(z, torch.zeros(3, 3, dtype=torch.bool))
    {'channels': 1.0, 'positions': 0.0, 'border': 0.0}
    """
    z = z.double()
    everything = z.var(correction=0)
    at = z.mean((0, 1))
    part = over.double().mean()
    border = at.new_zeros(())
    if 0 < part < 1:
        border = part * (1 - part) * (at[over].mean() - at[~over].mean()).square()
    channels, positions = z.mean((0, 2, 3)).var(correction=0), at.var(correction=0)
    found = {"channels": channels, "positions": positions, "border": border}
    return {name: float(value / everything) for name, value in found.items()}


def columns(layers: Sequence[tuple[Tensor, Tensor]], over: Sequence[Bool[Tensor, "_ _"]]) -> dict[str, float]:
    """What a row says of each layer, the first being layer 1, from pairs (a, z), rounded to 5 digits.

    At the border and in the center: `on`, the share of cases, channels and positions that are on; `rare`, the
    share of units that are on in less than a tenth of the cases. Of the summed inputs: `std_ratio`, border
    over center; `shift`, the border's mean minus the center's in standard deviations of the layer. The three
    `shares` of the variance of z. `dead`, the share of channels on in less than a hundredth of all.
    """
    found: dict[str, float] = {}
    for level, ((a, z), border) in enumerate(zip(layers, over, strict=True), 1):
        std, mean = torch.std_mean(a.double(), (0, 1), correction=0)
        on = (z > 0).double()
        here = on.mean((0, 1))
        rare = (on.mean(0) < 0.1).double()
        shift = mean[border].mean() - mean[~border].mean()
        values: dict[str, float | Tensor] = {
            "on_border": here[border].mean(),
            "on_center": here[~border].mean(),
            "rare_border": rare[:, border].mean(),
            "rare_center": rare[:, ~border].mean(),
            "std_ratio": (std[border].square().mean() / std[~border].square().mean()) ** 0.5,
            "shift": shift / a.double().std(correction=0),
            **shares(z, border),
            "dead": (on.mean((0, 2, 3)) < 0.01).double().mean(),
        }
        found |= {f"{name}_{level}": round(float(value), 5) for name, value in values.items()}
    return found

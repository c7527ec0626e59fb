r"""A ConvNet with a normalization in every layer.

In a layer of C channels and h x w positions, one mean and one standard deviation are shared by

- "batch": a channel, over cases and positions;
- "layer": a case, over channels and positions, Eq. (3);
- "position": a case and position, over channels (ConvNeXt's layer norm);
- "group": a case and one of four groups of channels; "instance": a case and a channel;
- "layer, border apart" and "batch, border apart": as above, but units whose receptive field reaches over the
  edge of the picture do not share theirs with the others.

Gains and biases are one a channel, where Eq. (5) has one a unit. And Section 6.7's explanation, measured: are
units near the boundary rarely on, and what makes them differ? A layer's summed inputs $a$ and what its ReLU
receives, $z$, have axes N cases, C channels, h x w positions.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from lnbook.shared.classifiers import initialize
from lnlib import norms
from lnlib.linear import Linear

Layers: TypeAlias = tuple[Sequence[int], Sequence[int]]  # channels, and strides
Over: TypeAlias = Bool[Tensor, "h w"]  # which positions see past the edge of the picture
Images: TypeAlias = Float[Tensor, "N C h w"]


class ConvNet(nn.Module):
    """Convolutions, each with a normalization and a ReLU, of a square picture; logits of all last units.

    The weights (He: normal, variance 2 / inputs) are the same for every `norm`.
    """

    def __init__(
        self, side: int, classes: int, layers: Layers, norm: str, generator: torch.Generator, padding: str
    ) -> None:
        super().__init__()
        self.over = reaches_over(side, layers[1])
        self.convolutions, self.norms = nn.ModuleList(), nn.ModuleList()
        inputs = 1
        for outputs, stride, over in zip(*layers, self.over, strict=True):
            options = {"bias": norm == "none", "padding_mode": padding}
            conv = nn.utils.skip_init(nn.Conv2d, inputs, outputs, 3, stride, 1, **options)
            initialize(conv, generator)
            self.convolutions.append(conv)
            self.norms.append(_normalization(norm, outputs, over))
            inputs = outputs
        self.head = nn.utils.skip_init(Linear, inputs * self.over[-1].numel(), classes)
        initialize(self.head, generator)

    def layers(self, x: Images) -> list[tuple[Tensor, Tensor]]:
        """For each layer its summed inputs a, and what its ReLU receives, z."""
        found = []
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            a = convolution(x)
            found.append((a, norm(a)))
            x = found[-1][1].relu()
        return found

    def forward(self, x: Images) -> Float[Tensor, "N K"]:
        return self.head(self.layers(x)[-1][1].relu().flatten(1))


def _normalization(norm: str, channels: int, over: Over) -> nn.Module:
    kinds: dict[str, Callable[..., nn.Module]] = {
        "none": nn.Identity,
        "batch": partial(norms.BatchNorm, channels),
        "layer": partial(norms.GroupNorm, 1, channels),
        "position": partial(PositionNorm, channels),
        "group": partial(norms.GroupNorm, 4, channels),
        "instance": partial(norms.InstanceNorm, channels, affine=True),
    }
    kind, _, apart = norm.partition(", ")
    return BorderApart(channels, over, partial(kinds[kind], affine=False)) if apart else kinds[kind]()


class PositionNorm(norms.LayerNorm):
    """Layer norm over the channels at each position, axis 1 of the input: ConvNeXt's."""

    def forward(self, a: Images) -> Images:
        return super().forward(a.movedim(1, -1)).movedim(-1, 1)


class BorderApart(nn.Module):
    """One normalization for the units at a layer's border, one for the rest; gains and biases in common."""

    over: Tensor

    def __init__(self, channels: int, over: Over, normalization: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.register_buffer("over", over, persistent=False)
        self.center, self.border = normalization(), normalization()
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, a: Images) -> Images:
        normed = torch.empty_like(a)
        for norm, where in ((self.center, ~self.over), (self.border, self.over)):
            normed[..., where] = norm(a[..., where])
        return self.weight[:, None, None] * normed + self.bias[:, None, None]


def reaches_over(size: int, strides: Sequence[int]) -> list[Over]:
    r"""Which units see past the edge of a picture, for each of a stack of 3 x 3 convolutions.

    With $o_0 = 0$ in the square picture of `size` pixels a side, and 1 in each layer's ring of padding,
    $o_l(i) = \max_{|d| \le 1} o_{l-1}(\mathrm{stride}_l\, i + d)$. True: over the edge.
    """
    over, found = torch.zeros(1, size, size), []
    for stride in strides:
        over = F.max_pool2d(F.pad(over, (1, 1, 1, 1), value=1.0), 3, stride)
        found.append(over[0] > 0)
    return found


def columns(layers: Sequence[tuple[Tensor, Tensor]], over: Sequence[Tensor]) -> dict[str, float]:
    r"""What a row says of each layer, the first being layer 1, from pairs (a, z), rounded to 5 digits.

    At the border and in the center: `on`, the share of cases, channels and positions that are on. Of the
    summed inputs: `std_ratio`, border over center. Of the variance of z, which share is a difference between
    kinds of units: `channels`, $\mathrm{Var}_c\,E[z\mid c]$; `border`, that between the units at the border
    and the others. Layer norm keeps such differences, batch norm removes the first.
    """
    found: dict[str, float] = {}
    for level, ((a, z), border) in enumerate(zip(layers, over, strict=True), 1):
        std, on = a.double().std((0, 1), correction=0), (z > 0).double().mean((0, 1))
        z = z.double()
        everything, at, part = z.var(correction=0), z.mean((0, 1)), border.double().mean()
        apart = part * (1 - part) * (at[border].mean() - at[~border].mean()).square()
        values = {
            "on_border": on[border].mean(),
            "on_center": on[~border].mean(),
            "std_ratio": (std[border].square().mean() / std[~border].square().mean()) ** 0.5,
            "channels": z.mean((0, 2, 3)).var(correction=0) / everything,
            "border": apart / everything,
        }
        found |= {f"{name}_{level}": round(float(value), 5) for name, value in values.items()}
    return found

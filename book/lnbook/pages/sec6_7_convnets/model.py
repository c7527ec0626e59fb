r"""A ConvNet with a normalization in every layer.

In a layer of C channels and h x w positions, one mean and one standard deviation are shared by

- "batch": a channel, over cases and positions;
- "layer": a case, over channels and positions, Eq. (3);
- "position": a case and position, over channels (ConvNeXt's layer norm);
- "group": a case and one of four groups of channels; "instance": a case and a channel;
- "layer, border apart" and "batch, border apart": as above, but units whose receptive field reaches over the
  edge of the picture do not share theirs with the others.

Gains and biases are one a channel, where Eq. (5) has one a unit.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from lnbook.pages.sec6_7_convnets.statistics import reaches_over
from lnbook.shared.classifiers import initialize
from lnlib import norms
from lnlib.linear import Linear

Padding = Literal["zeros", "circular"]
GROUPS = 4


class ConvNet(nn.Module):
    """Convolutions, each with a normalization and a ReLU; logits of all units of the last.

    `shape` is (h, w) of a square gray picture. The weights (He: normal, variance
    2 / inputs) are the same for every `norm`.
    """

    def __init__(
        self,
        shape: Sequence[int],
        classes: int,
        channels: Sequence[int],
        strides: Sequence[int],
        norm: str,
        generator: torch.Generator,
        padding: Padding = "zeros",
    ) -> None:
        super().__init__()
        self.over = reaches_over(shape[-1], strides)
        self.convolutions, self.norms = nn.ModuleList(), nn.ModuleList()
        inputs = 1
        for outputs, stride, over in zip(channels, strides, self.over, strict=True):
            options = {"bias": norm == "none", "padding_mode": padding}
            conv = nn.utils.skip_init(nn.Conv2d, inputs, outputs, 3, stride, 1, **options)
            initialize(conv, generator)
            self.convolutions.append(conv)
            self.norms.append(_normalization(norm, outputs, over))
            inputs = outputs
        self.head = nn.utils.skip_init(Linear, inputs * self.over[-1].numel(), classes)
        initialize(self.head, generator)

    def layers(self, x: Float[Tensor, "N _ h w"]) -> list[tuple[Tensor, Tensor]]:
        """For each layer its summed inputs, and what its ReLU receives."""
        found = []
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            a = convolution(x)
            z = norm(a)
            found.append((a, z))
            x = z.relu()
        return found

    def forward(self, x: Float[Tensor, "N _ h w"]) -> Float[Tensor, "N K"]:
        return self.head(self.layers(x)[-1][1].relu().flatten(1))


def _normalization(norm: str, channels: int, over: Bool[Tensor, "h w"]) -> nn.Module:
    kinds: dict[str, Callable[..., nn.Module]] = {
        "none": nn.Identity,
        "batch": partial(norms.BatchNorm, channels),
        "layer": partial(norms.GroupNorm, 1, channels),
        "position": partial(PositionNorm, channels),
        "group": partial(norms.GroupNorm, GROUPS, channels),
        "instance": partial(norms.InstanceNorm, channels, affine=True),
    }
    kind, _, apart = norm.partition(", ")
    return BorderApart(channels, over, partial(kinds[kind], affine=False)) if apart else kinds[kind]()


class PositionNorm(norms.LayerNorm):
    """Layer norm over the channels at each position, axis 1 of the input: ConvNeXt's."""

    def forward(self, a: Float[Tensor, "N C h w"]) -> Float[Tensor, "N C h w"]:
        return super().forward(a.movedim(1, -1)).movedim(-1, 1)


class BorderApart(nn.Module):
    """One normalization for the units at the border of a layer, one for the rest; gains and biases in common.

    Which positions are at the border is told by `over`, as from `statistics.reaches_over`.
    """

    order: Tensor
    back: Tensor

    def __init__(
        self, channels: int, over: Bool[Tensor, "h w"], normalization: Callable[[], nn.Module]
    ) -> None:
        super().__init__()
        where = over.flatten().to(torch.uint8)
        order = where.argsort(stable=True)  # the center first
        self.register_buffer("order", order, persistent=False)
        self.register_buffer("back", order.argsort(), persistent=False)
        self.sizes = [n for n in torch.bincount(where, minlength=2).tolist() if n]
        self.parts = nn.ModuleList(normalization() for _ in self.sizes)
        self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

    def forward(self, a: Float[Tensor, "N C h w"]) -> Float[Tensor, "N C h w"]:
        parts = a.flatten(2).index_select(2, self.order).split(self.sizes, 2)
        normed = torch.cat([norm(part) for norm, part in zip(self.parts, parts, strict=True)], 2)
        scaled = self.weight[:, None] * normed + self.bias[:, None]
        return scaled.index_select(2, self.back).reshape(a.shape)

r"""A Transformer that reads characters and predicts the next one, with the norm after or before.

One block has two sublayers S, attention and a feed-forward network:

=========  ===============================  ===================================
placement  a sublayer                       before the last linear map
=========  ===============================  ===================================
"post"     $x \leftarrow N(x + S(x))$       nothing
"pre"      $x \leftarrow x + S(N(x))$       one more norm
=========  ===============================  ===================================

N is layer norm, or any other module on vectors of H units.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from lnlib.norms.modules import LayerNorm, RMSNorm

NORMS: dict[str, Callable[[int], nn.Module]] = {"layer": LayerNorm, "rms": lambda H: RMSNorm(H, eps=1e-5)}


class Attention(nn.Module):
    """Causal self-attention (Vaswani et al., 2017): each position looks at itself and those before it."""

    def __init__(self, units: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(units, 3 * units, bias=False)
        self.out = nn.Linear(units, units, bias=False)

    def forward(self, x: Float[Tensor, "N T H"]) -> Float[Tensor, "N T H"]:
        N, T, H = x.shape
        parts = self.qkv(x).view(N, T, 3, self.heads, H // self.heads).permute(2, 0, 3, 1, 4)
        q, k, v = parts  # each (N, heads, T, H / heads)
        seen = scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(seen.transpose(1, 2).reshape(N, T, H))


class Block(nn.Module):
    """Attention and a feed-forward network, each with its residual connection and its norm."""

    def __init__(self, units: int, heads: int, placement: str, norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.placement = placement
        self.attention = Attention(units, heads)
        self.feed = nn.Sequential(nn.Linear(units, 4 * units), nn.ReLU(), nn.Linear(4 * units, units))
        self.norms = nn.ModuleList([norm(units), norm(units)])

    def forward(self, x: Float[Tensor, "N T H"]) -> Float[Tensor, "N T H"]:
        after = self.placement == "post"
        for norm, sublayer in zip(self.norms, (self.attention, self.feed), strict=True):
            x = norm(x + sublayer(x)) if after else x + sublayer(norm(x))
        return x


class Transformer(nn.Module):
    """Characters in, the logits of the next character out, at every position.

    Weights are Xavier's, uniform of variance 2 / (inputs + outputs); characters and positions are embedded
    with variance 1/2 each, so that the stream starts with variance 1. The norms draw nothing: models of one
    seed that differ in norms begin with the same weights.
    """

    def __init__(
        self,
        characters: int,
        length: int,
        units: int,
        heads: int,
        depth: int,
        placement: str = "pre",
        norm: Callable[[int], nn.Module] = LayerNorm,
        *,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # torch's own first weights are replaced below
            self.embed = nn.Embedding(characters, units)
            self.place = nn.Embedding(length, units)
            self.blocks = nn.ModuleList([Block(units, heads, placement, norm) for _ in range(depth)])
            self.last_norm = norm(units) if placement == "pre" else nn.Identity()
            self.out = nn.Linear(units, characters)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight, generator=generator)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=0.5**0.5, generator=generator)

    def streams(self, text: Int[Tensor, "N T"]) -> list[Float[Tensor, "N T H"]]:
        """The residual stream: embedded characters, then as each block leaves it."""
        found = [self.embed(text) + self.place.weight[: text.shape[1]]]
        for block in self.blocks:
            found.append(block(found[-1]))
        return found

    def forward(self, text: Int[Tensor, "N T"]) -> Float[Tensor, "N T characters"]:
        return self.out(self.last_norm(self.streams(text)[-1]))

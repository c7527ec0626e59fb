r"""A Transformer on the sphere (nGPT), attention included, and its runs beside pre-norm.

The stream h, what a sublayer F returns, and the vectors that the weights are made of have length 1:

$$h \leftarrow \mathrm{Norm}\big(h + \alpha\odot(\mathrm{Norm}(F(h)) - h)\big).$$

Queries and keys are normalized and scaled by $s_{qk}$, their products multiplied by $\sqrt{d}$ for d units a
head; a factor $s_u$ for each hidden unit; logits are cosines times a factor $s_z$ for each character. All
of these, and $\alpha$, are learned. Weights are brought back to length 1 after every update.

*Source* Loshchilov and others (2025), their Section 2. Theirs has rotary positions and a gated network; here
positions are learned and the hidden units are rectifiers, as in `lnbook.shared.transformer`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import torch
from jaxtyping import Float, Int, Int64
from torch import Tensor, nn
from torch.nn.functional import normalize, scaled_dot_product_attention

from lnbook.shared import characters as training
from lnbook.shared.characters import Text
from lnbook.shared.transformer import Transformer
from lnbook.training import generators, sweep

KINDS = ("pre-norm", "sphere")
RATES = (1e-3, 3e-3, 1e-2, 3e-2)
SCALES = {**training.SCALES, "book": replace(training.SCALES["shown"], updates=44)}  # to watch


class Factor(nn.Module):
    r"""A learned factor for each unit that Adam moves at a step of its own.

    What is stored starts at `scale` and what is used at `start`: an update of the stored number by
    $\eta$ moves the used one by $\eta\cdot$ start / scale.
    """

    def __init__(self, units: int, start: float, scale: float) -> None:
        super().__init__()
        self.ratio = start / scale
        self.stored = nn.Parameter(torch.full((units,), scale))

    def forward(self) -> Float[Tensor, " H"]:
        return self.ratio * self.stored


class SphereBlock(nn.Module):
    """Attention and a feed-forward network, each turning the stream part of the way, at first `start`."""

    def __init__(self, units: int, heads: int, start: float) -> None:
        super().__init__()
        self.heads, scale = heads, units**-0.5
        self.qkv, self.out = nn.Linear(units, 3 * units, bias=False), nn.Linear(units, units, bias=False)
        self.into = nn.Linear(units, 4 * units, bias=False)
        self.back = nn.Linear(4 * units, units, bias=False)
        self.query_key = Factor(units, 1.0, scale)
        self.hidden = Factor(4 * units, 1.0, 1.0)
        self.turns = nn.ModuleList([Factor(units, start, scale) for _ in range(2)])

    def attention(self, h: Float[Tensor, "N T H"]) -> Float[Tensor, "N T H"]:
        """What each place takes from itself and those before it."""
        N, T, H = h.shape
        parts = self.qkv(h).view(N, T, 3, self.heads, H // self.heads).permute(2, 0, 3, 1, 4)
        factor = self.query_key().view(self.heads, 1, -1)
        q, k, v = factor * normalize(parts[0], dim=-1), factor * normalize(parts[1], dim=-1), parts[2]
        seen = scaled_dot_product_attention(q, k, v, is_causal=True, scale=math.sqrt(H // self.heads))
        return self.out(seen.transpose(1, 2).reshape(N, T, H))

    def feed(self, h: Float[Tensor, "N T H"]) -> Float[Tensor, "N T H"]:
        return self.back((self.hidden() * self.into(h)).relu())

    def forward(self, h: Float[Tensor, "N T H"]) -> Float[Tensor, "N T H"]:
        for turn, sublayer in zip(self.turns, (self.attention, self.feed), strict=True):
            h = normalize(h + turn() * (normalize(sublayer(h), dim=-1) - h), dim=-1)
        return h


class SphereTransformer(nn.Module):
    """Characters in, the logits of the next character out, at every position, as :class:`Transformer`."""

    def __init__(
        self, characters: int, length: int, units: int, heads: int, depth: int, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):  # torch's own first weights are replaced below
            self.embed, self.place = nn.Embedding(characters, units), nn.Embedding(length, units)
            self.blocks = nn.ModuleList([SphereBlock(units, heads, 1 / depth) for _ in range(depth)])
            self.read = nn.Linear(units, characters, bias=False)
        self.temperature = Factor(characters, 1.0, units**-0.5)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, generator=generator)
        self.project()

    @torch.no_grad()
    def project(self) -> None:
        """Bring every vector that lives in the stream's space to length 1."""
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                to_stream = name.endswith((".out", ".back"))  # a vector of the stream for each input
                module.weight.copy_(normalize(module.weight, dim=0 if to_stream else 1))

    def stream(self, text: Int[Tensor, "N T"]) -> Float[Tensor, "N T H"]:
        """The last place of every character on the sphere."""
        h = normalize(self.embed(text) + self.place.weight[: text.shape[1]], dim=-1)
        for block in self.blocks:
            h = block(h)
        return h

    def forward(self, text: Int[Tensor, "N T"]) -> Float[Tensor, "N T characters"]:
        return self.temperature() * self.read(self.stream(text))


def run(
    train: Int64[np.ndarray, " train"],
    test: Int64[np.ndarray, " test"],
    *,
    kind: str,
    rate: float,
    seed: int,
    scale: str,
) -> float:
    """Test bits a character after training with Adam; runs of a seed read the same passages."""
    size = SCALES[scale]
    weights, order = generators(seed)
    shape = (int(max(train.max(), test.max())) + 1, size.length, size.units, size.heads, size.depth)
    model = (SphereTransformer if kind == "sphere" else Transformer)(*shape, generator=weights)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, betas=(0.9, 0.98), fused=True)
    if isinstance(model, SphereTransformer):
        optimizer.register_step_post_hook(lambda *_: model.project())
    x, y = training.measured_on(test, size.length, size.measured)

    def evaluate(_: nn.Module) -> dict[str, float]:
        return {"bits": float(training.loss(model(x), y)) / math.log(2)}

    return training.learn(model, optimizer, train, size, order, evaluate)[-1]["bits"]


def runs(
    text: Text, rates: Sequence[float], seeds: Sequence[int], scale: str
) -> Float[np.ndarray, "kinds rates seeds"]:
    """`run` for every kind, rate and seed."""
    asked = product(KINDS, rates, seeds)
    jobs = [{"kind": kind, "rate": rate, "seed": seed, "scale": scale} for kind, rate, seed in asked]
    found = sweep(run, jobs, common=(text.train, text.test), processes=SCALES[scale].processes)
    return np.array(found).reshape(len(KINDS), len(rates), len(seeds))

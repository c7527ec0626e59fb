"""nGPT's Transformer: everything has length 1, and its blocks are those of the equations."""

import pytest
import torch
from torch import nn
from torch.nn.functional import normalize

from lnbook.pages.beyond_timeline import sphere
from lnbook.pages.beyond_timeline.sphere import SphereTransformer
from lnbook.shared import characters as training

CHARACTERS, LENGTH, UNITS, HEADS, DEPTH = 11, 6, 8, 2, 3


def model() -> SphereTransformer:
    generator = torch.Generator().manual_seed(0)
    return SphereTransformer(CHARACTERS, LENGTH, UNITS, HEADS, DEPTH, generator=generator).double()


def test_a_block_turns_the_stream_part_of_the_way_to_what_its_sublayers_say() -> None:
    block, generator = model().blocks[0], torch.Generator().manual_seed(1)
    with torch.no_grad():
        for factor in (p for p in block.parameters() if p.ndim == 1):  # from unit to unit
            factor.mul_(torch.rand(factor.shape, generator=generator, dtype=factor.dtype) + 0.5)
    h = normalize(torch.randn(2, LENGTH, UNITS, generator=generator, dtype=torch.float64), dim=-1)
    expected = h
    for turn, sublayer in zip(block.turns, (block.attention, block.feed), strict=True):
        said = sublayer(expected)
        there = expected + turn() * (said / said.norm(dim=-1, keepdim=True) - expected)
        expected = there / there.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(block(h), expected)
    assert (block(h) - h).abs().max() > 0.01


def test_every_vector_starts_at_length_one_and_returns_there_after_every_update(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, module in model().named_modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            lengths = module.weight.norm(dim=0 if name.endswith((".out", ".back")) else 1)
            assert len(lengths) == {"back": 4 * UNITS, "out": UNITS}.get(
                name.rpartition(".")[2], len(lengths)
            )
            torch.testing.assert_close(lengths, torch.ones_like(lengths))
    seen = []
    monkeypatch.setattr(sphere.SphereTransformer, "project", lambda self: seen.append(self))
    read = training.read("smoke")
    sphere.run(read.train, read.test, kind="sphere", rate=1e-2, seed=0, scale="smoke")
    assert len(seen) == 1 + training.SCALES["smoke"].updates

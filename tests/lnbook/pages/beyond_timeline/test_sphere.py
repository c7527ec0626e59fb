"""nGPT's Transformer: everything has length 1, and its blocks are those of the equations."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from lnbook.pages.beyond_timeline import sphere
from lnbook.pages.beyond_timeline.sphere import SphereBlock, SphereTransformer
from lnbook.shared import characters as training

CHARACTERS, LENGTH, UNITS, HEADS, DEPTH = 11, 6, 8, 2, 3


def model(seed: int = 0) -> SphereTransformer:
    generator = torch.Generator().manual_seed(seed)
    return SphereTransformer(CHARACTERS, LENGTH, UNITS, HEADS, DEPTH, generator=generator).double()


def text(cases: int = 2) -> Tensor:
    return torch.randint(CHARACTERS, (cases, LENGTH), generator=torch.Generator().manual_seed(1))


def moved(block: SphereBlock) -> SphereBlock:
    """With factors that differ from unit to unit."""
    with torch.no_grad():
        for k, p in enumerate(block.parameters()):
            if p.ndim == 1:
                p.mul_(torch.rand(p.shape, generator=torch.Generator().manual_seed(k), dtype=p.dtype) + 0.5)
    return block


def test_a_block_turns_the_stream_part_of_the_way_to_what_its_sublayers_say() -> None:
    block = moved(model().blocks[0])
    h = normalize(torch.randn(2, LENGTH, UNITS, dtype=torch.float64), dim=-1)
    expected = h
    for turn, sublayer in zip(block.turns, (block.attention, block.feed), strict=True):
        said = sublayer(expected)
        there = expected + turn() * (said / said.norm(dim=-1, keepdim=True) - expected)
        expected = there / there.norm(dim=-1, keepdim=True)
    torch.testing.assert_close(block(h), expected)
    assert (block(h) - h).abs().max() > 0.01


def vectors(m: nn.Module) -> dict[str, Tensor]:
    """Lengths of all vectors that live in the space of the stream."""
    found = {}
    for name, module in m.named_modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            found[name] = module.weight.norm(dim=0 if name.endswith((".out", ".back")) else 1)
    return found


def test_every_vector_starts_at_length_one_and_returns_there_after_every_update(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, lengths in vectors(model()).items():
        assert len(lengths) == {"back": 4 * UNITS, "out": UNITS}.get(name.rpartition(".")[2], len(lengths))
        torch.testing.assert_close(lengths, torch.ones_like(lengths))
    seen = []
    monkeypatch.setattr(sphere.SphereTransformer, "project", lambda self: seen.append(self))
    read = training.read("smoke")
    sphere.run(read.train, read.test, kind="sphere", rate=1e-2, seed=0, scale="smoke")
    assert len(seen) == 1 + training.SCALES["smoke"].updates

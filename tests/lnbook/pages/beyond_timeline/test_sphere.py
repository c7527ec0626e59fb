"""nGPT's Transformer: everything has length 1, its parts are those of the equations, and it learns."""

import math

import numpy as np
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


def literal_attention(block: SphereBlock, h: Tensor) -> Tensor:
    """One case, one head and one pair of places at a time."""
    q, k, v = (h @ w.T for w in block.qkv.weight.split(UNITS))
    d, factor = UNITS // HEADS, block.query_key()
    heads = []
    for head in range(HEADS):
        at = slice(head * d, (head + 1) * d)
        rows = []
        for t in range(len(h)):
            logits = []
            for s in range(t + 1):
                cosine = factor[at] * q[t, at] / q[t, at].norm() @ (factor[at] * k[s, at] / k[s, at].norm())
                logits.append(math.sqrt(d) * cosine)
            share = torch.stack(logits).softmax(0)
            rows.append(share @ v[: t + 1, at])
        heads.append(torch.stack(rows))
    return torch.cat(heads, 1) @ block.out.weight.T


def test_attention_is_that_of_the_equations() -> None:
    block = moved(model().blocks[0])
    h = normalize(torch.randn(2, LENGTH, UNITS, dtype=torch.float64), dim=-1)
    found = block.attention(h)
    for n in range(2):
        torch.testing.assert_close(found[n], literal_attention(block, h[n]))


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


def test_the_stream_has_length_one_and_a_logit_is_at_most_its_characters_factor() -> None:
    m = model()
    torch.testing.assert_close(m.stream(text()).norm(dim=-1), torch.ones(2, LENGTH, dtype=torch.float64))
    assert (m(text()).abs() <= m.temperature() + 1e-12).all()


def test_no_place_depends_on_those_after_it() -> None:
    m, read = model(), text()
    other = read.clone()
    other[:, 4] = (other[:, 4] + 1) % CHARACTERS
    assert torch.equal(m(read)[:, :4], m(other)[:, :4])
    assert not torch.equal(m(read)[:, 4], m(other)[:, 4])


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


def test_an_update_of_a_factor_is_as_large_as_its_start_over_its_scale() -> None:
    factor = sphere.Factor(3, start=0.5, scale=0.25)
    with torch.no_grad():
        factor.stored.add_(0.1)
    torch.testing.assert_close(factor(), torch.full((3,), 0.7))


@pytest.mark.parametrize("kind", sphere.KINDS)
def test_both_kinds_learn_and_repeat_themselves(kind: str) -> None:
    read = training.read("smoke")
    rows = [sphere.run(read.train, read.test, kind=kind, rate=1e-2, seed=0, scale="smoke") for _ in range(2)]
    bits = [[row["bits"] for row in run] for run in rows]
    assert bits[0] == bits[1]
    assert bits[0][-1] < bits[0][0] - 0.3  # of about 6 bits


def test_runs_are_by_kind_rate_and_seed() -> None:
    read = training.read("smoke")
    found = sphere.runs(read, [4], "smoke")
    assert found.shape == (len(sphere.KINDS), len(sphere.RATES), 1)
    alone = sphere.run(read.train, read.test, kind="sphere", rate=sphere.RATES[2], seed=4, scale="smoke")
    np.testing.assert_allclose(found[1, 2, 0], alone[-1]["bits"], rtol=1e-6)  # threads may differ


def test_another_kind_is_refused() -> None:
    read = training.read("smoke")
    with pytest.raises(ValueError, match="kind is 'post'"):
        sphere.run(read.train, read.test, kind="post", rate=1e-2, seed=0, scale="smoke")

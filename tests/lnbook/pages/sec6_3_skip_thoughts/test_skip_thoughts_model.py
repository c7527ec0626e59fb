"""Skip-thoughts' network: against an explicit loop, by hand, and what it must not depend on."""

import pytest
import torch
from torch import Tensor

from lnbook.pages.sec6_3_skip_thoughts.model import DECODERS, SkipThoughts


def nats_by_hand(m: SkipThoughts, ids: list[int], thought: Tensor, side: int) -> float:
    """One sentence, word by word: the thought is seen at each step, or is the first state."""
    gru = m.decoders[side]
    each = gru.input_size > 3
    state = None if each else thought[None, None]
    seen, total = torch.zeros(3, dtype=torch.float64), 0.0
    for word in ids:
        out, state = gru((torch.cat([seen, thought]) if each else seen)[None, None], state)
        total -= float(m.output(out[0, 0]).log_softmax(0)[word])
        seen = m.words.weight[word]
    return total


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("norm", ["none", "layer"])
def test_both_decoders_are_shown_the_thought_as_an_explicit_loop_says(norm: str, decoder: str) -> None:
    draw = torch.Generator().manual_seed(0)
    m = SkipThoughts(11, 3, 4, norm=norm, generator=draw, decoder=decoder).double()
    before = torch.tensor([[3, 4, 2, 0], [5, 6, 7, 2], [2, 0, 0, 0]])
    here = torch.tensor([[8, 2, 0], [9, 10, 2], [3, 2, 0]])
    after = torch.tensor([[2, 0], [4, 2], [5, 2]])
    lengths = torch.tensor([[3, 2, 1], [4, 3, 2], [1, 2, 2]])
    with torch.no_grad():
        for name, p in m.named_parameters():  # biases and gains too, so that nothing can hide
            if "bias" in name or "gain" in name:
                p.add_(0.3 * torch.randn(p.shape, generator=draw, dtype=p.dtype))
        found = m(before, here, after, lengths)
        for n in range(3):
            thought = m.encoder(m.words.weight[here[n, : lengths[n, 1]]][:, None])[1][0, 0]
            torch.testing.assert_close(m.encode(here, lengths[:, 1])[n], thought, rtol=1e-10, atol=1e-12)
            for side, ids in ((0, before), (1, after)):
                words = ids[n, : lengths[n, 2 * side]].tolist()
                by_hand = nats_by_hand(m, words, thought, side)
                assert float(found[n, side]) == pytest.approx(by_hand, rel=1e-10)


def test_initial_weights_are_the_papers_at_its_sizes_and_as_wide_at_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    m = SkipThoughts(500, 62, 24, norm="none", generator=torch.Generator().manual_seed(0))
    m.requires_grad_(False)
    # uniform within a: the greatest of more than 1,700 lies between 0.99 a and a
    assert 0.99 < float(m.words.weight.abs().max()) / 0.1 <= 1
    assert 0.99 < float(m.encoder.weight_ih_l0.abs().max()) / (0.1 * 10**0.5) <= 1
    assert 0.99 < float(m.decoders[0].weight_ih_l0[:, 62:].abs().max()) / (0.1 * 100**0.5) <= 1
    gate = m.encoder.weight_hh_l0[:24]
    torch.testing.assert_close(gate @ gate.T, torch.eye(24), rtol=0, atol=1e-5)  # float32
    monkeypatch.setattr("lnbook.pages.sec6_3_skip_thoughts.model.PAPER", (62, 24))
    made = [
        SkipThoughts(5, 62, 24, norm="none", generator=torch.Generator().manual_seed(0), initial=initial)
        for initial in ("scaled", "printed")
    ]
    assert all(torch.equal(a, b) for a, b in zip(*(one.parameters() for one in made), strict=True))

"""The layer that reads: its window against loops, and its compiled loop against torch's operations."""

from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

from lnbook.pages.sec6_5_handwriting.model import Handwriting, ReadingLSTM, ReadingState
from lnlib.rnn import plain

T, N, D, H, A, K, U = 9, 3, 3, 5, 4, 2, 6
LENGTHS = torch.tensor([6, 4, 1])


def layer(norm: str, seed: int = 0, dtype: torch.dtype = torch.float64, units: int = H) -> ReadingLSTM:
    """Its parameters random, the biases and gains, too."""
    torch.manual_seed(seed)
    draw = torch.Generator().manual_seed(seed)
    network = Handwriting(units, characters=A, gaussians=K, norm=norm, pace=0.5, generator=draw)
    found = network.first.to(dtype)
    with torch.no_grad():
        for p in found.parameters():
            p.add_(0.3 * torch.randn_like(p))
    return found


def state_of(units: int, dtype: torch.dtype) -> ReadingState:
    return ReadingState(*(torch.rand(N, size, dtype=dtype) for size in (units, units, A, K)))


def given(seed: int = 1, dtype: torch.dtype = torch.float64, steps: int = T) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(steps, N, D, generator=generator, dtype=dtype)
    return x, torch.randint(0, A, (N, U), generator=generator), LENGTHS


@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize("units", [5, 64])
def test_the_compiled_loop_is_the_plain_one(norm: str, units: int) -> None:
    reads = layer(norm, dtype=torch.float32, units=units)
    x, texts, lengths = given(dtype=torch.float32, steps=40)
    start = state_of(units, torch.float32)
    results = []
    for path in (nullcontext, plain):
        with path():
            look, state = reads(x, texts, lengths, start)
        assert (look.h.grad_fn.name() == "LoopBackward") == (path is nullcontext)
        of_h, of_w = look.h.square() * torch.arange(40)[:, None, None], look.w * x.sum(2, keepdim=True)
        gradients = torch.autograd.grad(of_h.sum() + of_w.sum(), list(reads.parameters()))
        results.append(([*look, *state], gradients))
    for one, other in zip(results[0][0], results[1][0], strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=2e-4)  # float32, forty steps that feed back
    for (name, _), one, other in zip(reads.named_parameters(), results[0][1], results[1][1], strict=True):
        assert (one - other).norm() < 1e-4 * other.norm() + 1e-6, name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_stands_behind_a_texts_end_counts_for_nothing(dtype: torch.dtype) -> None:
    reads = layer("layer", dtype=dtype)
    x, texts, lengths = given(dtype=dtype)
    other = torch.where(torch.arange(U) < lengths[:, None], texts, (texts + 1) % A)
    for one, two in zip(reads(x, texts, lengths)[0], reads(x, other, lengths)[0], strict=True):
        assert torch.equal(one, two)
    changed = reads(x, (texts + 1) % A, lengths)[0]
    assert (changed.w - reads(x, texts, lengths)[0].w).abs().max() > 0.01


def test_at_first_the_window_moves_at_the_pace_and_sees_about_one_character() -> None:
    draw = torch.Generator().manual_seed(0)
    reads = Handwriting(H, characters=A, norm="none", pace=0.125, generator=draw).first
    with torch.no_grad():
        reads.window.weight.zero_()
    texts, lengths = torch.arange(U)[None] % A, torch.tensor([U])
    look, state = reads(torch.zeros(16, 1, D), texts, lengths)
    torch.testing.assert_close(state.kappa, torch.full((1, 10), 2.0), atol=1e-5, rtol=0)
    assert int(look.phi[-1, 0].argmax()) == 2
    assert float(look.phi[-1, 0].max()) == pytest.approx(1, abs=1e-5)


def test_gradients_stop_at_the_carried_state() -> None:
    for dtype in (torch.float32, torch.float64):
        reads = layer("layer", dtype=dtype)
        x, texts, lengths = given(dtype=dtype)
        state = ReadingState(*(s.requires_grad_() for s in state_of(H, dtype)))
        look, _ = reads(x, texts, lengths, state)
        look.h.sum().backward()
        assert all(s.grad is None for s in state)

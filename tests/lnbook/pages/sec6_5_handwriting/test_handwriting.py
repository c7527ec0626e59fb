"""Experiment 6.5: the pen's density, Graves' network, the layer that reads, and what is written."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch
from torch import Tensor

from lnbook.pages.sec6_5_handwriting import experiment
from lnbook.pages.sec6_5_handwriting.experiment import EXPERIMENT, lines_of
from lnbook.pages.sec6_5_handwriting.model import Handwriting, draw, mixture, nll
from lnbook.training import Machine
from lnlib.rnn import plain

N, T, U, A, K = 3, 8, 6, 5, 3  # lines, points, letters, kinds of them, the window's Gaussians
LETTERS = torch.tensor([6, 4, 1])


def tiny(norm: str = "layer", dtype: torch.dtype = torch.float64, units: int = 6) -> Handwriting:
    """Its parameters random, the biases and gains, too."""
    seeded = torch.Generator().manual_seed(0)
    sizes = {"characters": A, "components": 2, "gaussians": K}
    model = Handwriting(units, **sizes, norm=norm, pace=0.5, generator=seeded).to(dtype)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.2 * torch.randn(p.shape, generator=seeded).to(dtype))
    return model


def lines(dtype: torch.dtype = torch.float64, steps: int = T) -> tuple[Tensor, Tensor]:
    """Points, and texts of `LETTERS` letters."""
    seeded = torch.Generator().manual_seed(1)
    points = torch.randn(N, steps + 1, 3, generator=seeded, dtype=dtype)
    points[..., 2] = (points[..., 2] > 0).to(dtype)
    return points, torch.randint(0, A, (N, U), generator=seeded)


def outputs(seed: int, components: int, rows: int) -> Tensor:
    seeded = torch.Generator().manual_seed(seed)
    return torch.randn(rows, 6 * components + 1, generator=seeded, dtype=torch.float64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1e2, 1e4])
def test_wild_outputs_give_finite_losses_and_gradients(dtype: torch.dtype, size: float) -> None:
    y = (size * outputs(1, 4, 3).to(dtype)).requires_grad_()
    loss = nll(mixture(y), torch.tensor([[0.5, -3.0, 1.0]], dtype=dtype).expand(3, 3)).sum()
    (gradient,) = torch.autograd.grad(loss, y)
    assert torch.isfinite(loss)
    assert torch.isfinite(gradient).all()


def test_samples_are_of_the_density_by_which_they_are_judged() -> None:
    count = 200_000
    y = (0.5 * outputs(7, 3, 1)).expand(count, -1).clone().requires_grad_()
    points = draw(mixture(y.detach()), torch.Generator().manual_seed(0))
    (slopes,) = torch.autograd.grad(nll(mixture(y), points).sum(), y)
    # the mean slope of a density's own logarithm is 0 for each of its parameters: five standard errors
    assert (slopes.mean(0).abs() < 5 * slopes.std(0) / count**0.5).all()


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_the_loss_adds_up_a_lines_points_one_by_one_through_layers_connected_as_graves_says(
    norm: str,
) -> None:
    model, (points, texts), lengths = tiny(norm).requires_grad_(False), lines(), torch.tensor([8, 5, 2])
    found = model(points, lengths, texts, LETTERS)
    for n in range(N):
        end, own = int(lengths[n]), LETTERS[n : n + 1]
        x = points[n : n + 1, :end].transpose(0, 1)
        (h1, w, _), _ = model.first(x, texts[n : n + 1, : int(own)], own)
        with plain():
            h2, _ = model.second(torch.cat([x, h1, w], 2))
            h3, _ = model.third(torch.cat([x, h2, w], 2))
        W = model.output.weight.split(6, 1)
        y = model.output.bias + sum(h @ part.T for h, part in zip((h1, h2, h3), W, strict=True))
        total = sum(float(nll(mixture(y[t, 0]), points[n, t + 1])) for t in range(end))
        assert float(found[n]) == pytest.approx(total)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize("back", [1, 3, 8])
def test_cut_gradients_leave_the_loss_as_it_is(norm: str, back: int, dtype: torch.dtype) -> None:
    model, (points, texts) = tiny(norm, dtype), lines(dtype)
    given = points, torch.tensor([8, 5, 2]), texts, LETTERS
    whole, cut = model(*given), model(*given, back)
    # float32 kernels in chunks of other sizes round differently
    torch.testing.assert_close(whole, cut, rtol=1e-4 if dtype == torch.float32 else 1e-9, atol=1e-6)
    gradients = [torch.autograd.grad(loss.sum(), model.second.weight_hh_l0)[0] for loss in (whole, cut)]
    same = torch.allclose(*gradients, rtol=1e-3)
    assert same == (back == 8)


@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize("units", [5, 64])
def test_the_compiled_loop_is_the_plain_one(norm: str, units: int) -> None:
    reads, (points, texts) = tiny(norm, torch.float32, units).first, lines(torch.float32, 40)
    x, seeded = points[:, 1:].transpose(0, 1), torch.Generator().manual_seed(2)
    start = tuple(torch.rand(N, size, generator=seeded) for size in (units, units, A, K))
    results = []
    for path in (nullcontext, plain):
        with path():
            (h, w, phi), state = reads(x, texts, LETTERS, start)
        assert (h.grad_fn.name() == "LoopBackward") == (path is nullcontext)
        of_h, of_w = h.square() * torch.arange(40)[:, None, None], w * x.sum(2, keepdim=True)
        gradients = torch.autograd.grad(of_h.sum() + of_w.sum(), list(reads.parameters()))
        results.append(([h, w, phi, *state], gradients))
    for one, other in zip(results[0][0], results[1][0], strict=True):
        torch.testing.assert_close(one, other, atol=2e-5, rtol=2e-4)  # float32, forty steps that feed back
    for (name, _), one, other in zip(reads.named_parameters(), results[0][1], results[1][1], strict=True):
        assert (one - other).norm() < 1e-4 * other.norm() + 1e-6, name


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_stop_at_the_state_and_what_stands_behind_a_texts_end_counts_for_nothing(
    dtype: torch.dtype,
) -> None:
    reads, (points, texts) = tiny(dtype=dtype).first, lines(dtype)
    x = points.transpose(0, 1)
    state = tuple(torch.rand(N, n, dtype=dtype, requires_grad=True) for n in (6, 6, A, K))
    other = torch.where(torch.arange(U) < LETTERS[:, None], texts, (texts + 1) % A)
    looks, same, changed = (reads(x, ids, LETTERS, state)[0] for ids in (texts, other, (texts + 1) % A))
    assert all(torch.equal(one, two) for one, two in zip(looks, same, strict=True))
    assert (looks[1] - changed[1]).abs().max() > 0.01
    looks[0].sum().backward()
    assert all(s.grad is None for s in state)


def test_at_first_the_window_moves_at_the_pace_and_sees_about_one_character() -> None:
    seeded = torch.Generator().manual_seed(0)
    reads = Handwriting(5, characters=A, norm="none", pace=0.125, generator=seeded).first
    with torch.no_grad():
        reads.window.weight.zero_()
    texts, lengths = torch.arange(U)[None] % A, torch.tensor([U])
    (_, _, phi), state = reads(torch.zeros(16, 1, 3), texts, lengths)
    torch.testing.assert_close(state[3], torch.full((1, 10), 2.0), atol=1e-5, rtol=0)
    assert int(phi[-1, 0].argmax()) == 2
    assert float(phi[-1, 0].max()) == pytest.approx(1, abs=1e-5)


def test_what_is_written_depends_on_seed_and_bias_and_ends_with_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = {**EXPERIMENT.jobs("smoke", 0)[1], "lines": 60, "judged": 12}
    model, alphabet = EXPERIMENT.task(job, "smoke", Machine()).model, lines_of(job).alphabet
    monkeypatch.setattr(experiment, "MOST", 300)

    def written(seed: int, bias: float = 0.0) -> list[tuple[np.ndarray, np.ndarray]]:
        asked = [(text, bias) for text in ("abcabc", "ff")]
        return experiment.write(model, alphabet, asked, torch.Generator().manual_seed(seed))

    one, same, other, narrow = written(0), written(0), written(1), written(0, bias=3.0)
    assert all(np.array_equal(a, b) for (a, _), (b, _) in zip(one, same, strict=True))
    (points, phi), (short, _) = one
    assert not np.array_equal(points[1:3], other[0][0][1:3])
    # the untrained window moves at the pace of the data, so that it leaves the text sooner or later
    assert len(short) < len(points) <= 300
    assert phi.shape == (len(points) - 1, 6)
    assert np.abs(narrow[0][0][1:, :2]).std() < np.abs(points[1:, :2]).std()
    monkeypatch.setattr(experiment, "MOST", 5)
    assert len(written(0)[0][0]) == 6

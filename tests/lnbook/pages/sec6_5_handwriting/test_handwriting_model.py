"""Graves' network: its connections, its loss, carried states, beginnings."""

import pytest
import torch
from torch import Tensor

from lnbook.pages.sec6_5_handwriting.model import Handwriting, mixture, nll
from lnlib.rnn import plain

N, T, U, A = 3, 8, 4, 5


def tiny(norm: str = "layer", dtype: torch.dtype = torch.float64, seed: int = 0) -> Handwriting:
    generator = torch.Generator().manual_seed(seed)
    model = Handwriting(6, characters=A, norm=norm, components=2, gaussians=3, generator=generator).to(dtype)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.2 * torch.randn(p.shape, generator=generator).to(dtype))
    return model


def lines(dtype: torch.dtype = torch.float64, seed: int = 1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(N, T + 1, 3, generator=generator, dtype=dtype)
    points[..., 2] = (points[..., 2] > 0).to(dtype)
    texts = torch.randint(0, A, (N, U), generator=generator)
    return points, torch.tensor([8, 5, 2]), texts, torch.tensor([4, 2, 1])


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_the_layers_are_connected_as_graves_says(norm: str) -> None:
    model = tiny(norm)
    points, _, texts, letters = lines()
    x = points[:, :-1].transpose(0, 1)
    y, phi, _ = model.steps(x, texts, letters)
    look, _ = model.first(x, texts, letters)
    with plain():
        h2, _ = model.second(torch.cat([x, look.h, look.w], 2))
        h3, _ = model.third(torch.cat([x, h2, look.w], 2))
    W = model.output.weight.split(6, 1)
    expected = model.output.bias + sum(h @ w.T for h, w in zip((look.h, h2, h3), W, strict=True))
    torch.testing.assert_close(y, expected)
    torch.testing.assert_close(phi, look.phi)


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_the_loss_adds_up_a_lines_points_one_by_one(norm: str) -> None:
    model = tiny(norm)
    points, lengths, texts, letters = lines()
    found = model(points, lengths, texts, letters).detach()
    for n in range(N):
        end, own = int(lengths[n]), (texts[n : n + 1, : int(letters[n])], letters[n : n + 1])
        x = points[n : n + 1, :end].transpose(0, 1)
        y, _, _ = model.steps(x, *own)
        total = sum(float(nll(mixture(y[t, 0]), points[n, t + 1]).detach()) for t in range(end))
        assert float(found[n]) == pytest.approx(total)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize("back", [1, 3, 8])
def test_cut_gradients_leave_the_loss_as_it_is(norm: str, back: int, dtype: torch.dtype) -> None:
    model = tiny(norm, dtype)
    given = lines(dtype)
    whole, cut = model(*given), model(*given, back)
    # float32 kernels in chunks of other sizes round differently
    torch.testing.assert_close(whole, cut, rtol=1e-4 if dtype == torch.float32 else 1e-9, atol=1e-6)
    gradients = [torch.autograd.grad(loss.sum(), model.second.weight_hh_l0)[0] for loss in (whole, cut)]
    same = torch.allclose(*gradients, rtol=1e-3)
    assert same == (back == 8)

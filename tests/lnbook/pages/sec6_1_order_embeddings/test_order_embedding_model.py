"""The model of Section 6.1: its points, and the violations and their gradients against the formula."""

import pytest
import torch

from lnbook.pages.sec6_1_order_embeddings.model import OrderEmbedding, violations


def model(norm: str = "layer", seed: int = 0, score: str = "order") -> OrderEmbedding:
    generator = torch.Generator().manual_seed(seed)
    made = OrderEmbedding(20, 7, units=6, word_size=5, norm=norm, generator=generator, score=score)
    return made.double()


def test_the_symmetric_baseline_keeps_signs_and_scores_by_the_cosine() -> None:
    net, other = model(score="cosine"), model()
    words, lengths = torch.tensor([[3, 4, 5], [6, 7, 0]]), torch.tensor([3, 2])
    features = torch.randn(2, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    points = net(words, lengths, features)
    for point, of_order in zip(points, other(words, lengths, features), strict=True):
        assert (point < 0).any()
        torch.testing.assert_close(point.abs(), of_order)
    cosines = torch.nn.functional.cosine_similarity(points[0][:, None], points[1], dim=-1)
    torch.testing.assert_close(net.errors(*points), 1 - cosines)
    torch.testing.assert_close(other.errors(*points), violations(*points))


@pytest.mark.parametrize("norm", ["none", "layer"])
def test_padding_does_not_touch_a_captions_point(norm: str) -> None:
    net = model(norm)
    alone = net.captions(torch.tensor([[6, 7]]), torch.tensor([2]))
    among = net.captions(torch.tensor([[3, 4, 5], [6, 7, 19]]), torch.tensor([3, 2]))
    torch.testing.assert_close(among[1:], alone)


def test_recurrent_weights_begin_orthogonal() -> None:
    for gate in model().gru.weight_hh_l0.detach().split(6):
        square = gate @ gate.T
        torch.testing.assert_close(square, torch.eye(6, dtype=torch.float64), atol=1e-6, rtol=0)  # float32


@pytest.mark.parametrize("sizes", [(3, 4, 5), (150, 9, 1000)])  # in one piece, and in several
def test_violations_and_their_gradients_are_those_of_the_formula(sizes: tuple[int, int, int]) -> None:
    captions, pictures, units = sizes
    draw = torch.Generator().manual_seed(0)
    leaves = [torch.randn(n, units, generator=draw, dtype=torch.float64) for n in (captions, pictures)]
    b, a = (x.requires_grad_() for x in leaves)
    weight = torch.randn(captions, pictures, generator=draw, dtype=torch.float64)
    found = torch.autograd.grad((weight * violations(b, a)).sum(), (b, a))
    literal = (b[:, None] - a).clamp_min(0).square().sum(-1)
    torch.testing.assert_close(violations(b, a), literal)
    expected = torch.autograd.grad((weight * literal).sum(), (b, a))
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)

"""Experiment 6.1: points, violations and loss by their formulas; ranks by hand; that an order is learned."""

from itertools import product

import pytest
import torch

from lnbook.pages.sec6_1_order_embeddings import experiment
from lnbook.pages.sec6_1_order_embeddings.experiment import EXPERIMENT, Embedding
from lnbook.pages.sec6_1_order_embeddings.model import MARGINS, OrderEmbedding, ranks, retrieval, violations
from lnbook.training import Machine, noise_of, train

SMALL = {"units": 8, "word_size": 6, "vocabulary": 50, "batch_size": 16, "updates": 4, "every": 2}


def task(dtype: torch.dtype = torch.float32, **changes: object) -> Embedding:
    job = EXPERIMENT.jobs("smoke", 0)[1] | SMALL | changes
    return Embedding(job, "smoke", Machine(dtype=dtype))


def test_the_loss_is_a_literal_sum_over_the_batch() -> None:
    assert MARGINS == {"order": 0.05, "cosine": 0.2}
    made = task(torch.float64)
    words, lengths, owner = next(made.batches)
    owner[1] = owner[0]  # two captions of one picture
    found = made.loss(made.model, (words, lengths, owner), noise_of(0, 0))
    captions = made.points(words, lengths)
    images = made.images("train")[owner]
    expected = 0.0
    for n, m in product(range(len(owner)), repeat=2):
        if owner[n] != owner[m]:
            right = (captions[n] - images[n]).clamp_min(0).square().sum()
            for wrong in ((captions[m] - images[n]), (captions[n] - images[m])):
                expected += (0.05 + right - wrong.clamp_min(0).square().sum()).clamp_min(0).item()
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_points_of_many_captions_come_in_their_order_whatever_their_padding() -> None:
    made = task()
    words, lengths = made.encoded(["a red ball", "something", "a small red ball and a large blue box"])
    with torch.no_grad():
        together = made.points(words, lengths, chunk=2)
        alone = torch.cat([made.points(words[k : k + 1], lengths[k : k + 1]) for k in range(3)])
    torch.testing.assert_close(together, alone)


def test_both_scores_begin_alike_and_the_symmetric_baseline_keeps_signs_and_takes_the_cosine() -> None:
    sizes = {"units": 6, "word_size": 5, "norm": "layer"}
    net, other = (
        OrderEmbedding(20, 7, **sizes, generator=torch.Generator().manual_seed(0), score=score).double()
        for score in ("cosine", "order")
    )
    words, lengths = torch.tensor([[3, 4, 5], [6, 7, 0]]), torch.tensor([3, 2])
    features = torch.randn(2, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    points = net(words, lengths, features)
    for point, of_order in zip(points, other(words, lengths, features), strict=True):
        assert (point < 0).any()
        torch.testing.assert_close(point.abs(), of_order)
    cosines = torch.nn.functional.cosine_similarity(points[0][:, None], points[1], dim=-1)
    torch.testing.assert_close(net.errors(*points), 1 - cosines)
    torch.testing.assert_close(other.errors(*points), violations(*points))
    for gate in net.gru.weight_hh_l0.detach().split(6):
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


def test_nan_ranks_last_and_recalls_are_percentages() -> None:
    # the page holds all other ranks against lists that are sorted
    table = torch.tensor([[torch.nan, 0.2], [0.3, torch.nan]])
    of_caption, of_image = ranks(table, torch.tensor([0, 1]))
    assert of_caption.tolist() == of_image.tolist() == [2, 2]
    found = retrieval(torch.tensor([[0.1, 0.2], [0.4, 0.3]]), torch.tensor([0, 1]))
    expected = {"caption_r1": 50, "caption_mean": 1.5, "image_r1": 100, "image_mean": 1}
    assert found.items() >= expected.items()


def test_splits_rank_against_their_own_pictures_and_are_averaged(monkeypatch: pytest.MonkeyPatch) -> None:
    made = task()
    words, lengths, owner = made.parts["valid"]
    with torch.no_grad():
        table = made.model.errors(made.points(words, lengths), made.images("valid"))
        halves = [retrieval(table[owner // 50 == k, 50 * k : 50 * k + 50], owner[:250]) for k in range(2)]
        monkeypatch.setattr(experiment, "SPLIT", 50)
        found = made.evaluate(made.model, "valid", (words, lengths, owner))
    for name in halves[0]:
        assert found[name] == pytest.approx((halves[0][name] + halves[1][name]) / 2)


def test_the_smoke_run_learns_to_find_pictures() -> None:
    job = {**EXPERIMENT.jobs("smoke", 0)[1], "updates": 600, "every": 600}  # a few seconds
    rows = train(Embedding(job, "smoke", Machine())).rows
    assert rows[0]["valid_image_r10"] < 20 < 45 < rows[-1]["valid_image_r10"]  # chance: 10 of 100

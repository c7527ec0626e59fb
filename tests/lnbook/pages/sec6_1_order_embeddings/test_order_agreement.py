"""That what is learned agrees with the true order, and what a violation is made of."""

import pytest
import torch

from lnbook.data.captions import load_captions
from lnbook.pages.sec6_1_order_embeddings.agreement import agreement, covers, examples, order_of, symmetric
from lnbook.pages.sec6_1_order_embeddings.experiment import EXPERIMENT, Embedding
from lnbook.shared.studies import NORMS
from lnbook.training import Machine, train


def made(norm: str) -> Embedding:
    """Longer than "smoke": a few seconds."""
    job = {**EXPERIMENT.jobs("smoke", 0)[0], "norm": norm, "updates": 600, "every": 600}
    found = EXPERIMENT.task(job, "smoke", Machine())
    assert isinstance(found, Embedding)
    return found


@pytest.mark.parametrize("norm", NORMS)
def test_the_learned_order_agrees_with_the_true_one_and_that_of_random_weights_does_not(norm: str) -> None:
    task, part = made(norm), load_captions("scenes").parts["test"]
    before = agreement(task, part)
    rows = train(task).rows
    after = agreement(task, part)
    # runs of several seeds and lengths: 0.44 to 0.56 before, 0.70 to 0.82 after
    for kind in ("pictures", "captions"):
        assert before[kind] < 0.6 < 0.65 < after[kind], kind
    assert 0 < after["direction"] < 1
    assert rows[0]["valid_image_r10"] < 20 < 45 < rows[-1]["valid_image_r10"]  # chance: 10 of 100


def test_the_agreement_of_the_true_order_is_one() -> None:
    part = load_captions("scenes").parts["test"]
    truth = order_of(part.meaning[1][:20], part.meaning[0][:4])
    assert truth.shape == (20, 4)
    assert all(truth[k, k // 5] for k in range(20))
    assert not truth.all()


def test_violations_without_a_direction_are_half_a_distance() -> None:
    draw = torch.Generator().manual_seed(0)
    points = torch.rand(6, 5, generator=draw, dtype=torch.float64)
    points = points / points.norm(dim=1, keepdim=True)
    swapped = torch.cat([points, points.flip(1)])  # each point and its mirror
    assert 0 < symmetric(swapped, swapped) < 1
    half = torch.tensor([[0.6, 0.8], [0.8, 0.6]], dtype=torch.float64)
    assert symmetric(half, half) == pytest.approx(1)


def test_a_hasse_diagram_leaves_out_what_follows() -> None:
    ball, red = frozenset({"ball"}), frozenset({"red"})
    both, box = ball | red, frozenset({"box"})
    texts = [(ball,), (red,), (both,), (both, box), (box,)]
    assert covers(texts) == [(0, 2), (1, 2), (2, 3), (4, 3)]
    assert covers([(ball, red), (red, ball)]) == []  # the same meaning: neither is above


def test_there_is_an_example_of_every_rank_even_where_no_caption_has_it() -> None:
    assert examples(torch.tensor([1, 1, 1, 3, 60])) == [1, 3, 4]
    assert examples(torch.tensor([7, 8])) == [0, 0, 1]  # no hit, no near miss, no failure

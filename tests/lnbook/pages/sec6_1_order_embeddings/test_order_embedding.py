"""Experiment 6.1: its runs and its task."""

from itertools import product

import numpy as np
import pytest
import torch

from lnbook.data.captions import load_captions
from lnbook.pages.sec6_1_order_embeddings import experiment as order_embedding
from lnbook.pages.sec6_1_order_embeddings.experiment import EXPERIMENT, STUDIES, Embedding
from lnbook.pages.sec6_1_order_embeddings.model import MARGINS
from lnbook.pages.sec6_1_order_embeddings.ranking import TOP
from lnbook.training import Machine, noise_of, train

SMALL: dict[str, int | str] = {
    "units": 8,
    "word_size": 6,
    "vocabulary": 50,
    "batch_size": 16,
    "updates": 4,
    "every": 2,
}
SMALL |= {"score": "order"}


def task(norm: str = "layer", machine: Machine | None = None, **changes: int | str) -> Embedding:
    return Embedding(load_captions("scenes"), machine or Machine(), norm=norm, seed=0, **(SMALL | changes))


def test_the_paper_scale_is_the_papers() -> None:
    first = EXPERIMENT.jobs("paper", 0)[0]
    assert first["data"] == "coco_vgg"
    assert (first["units"], first["word_size"], first["batch_size"], first["every"]) == (1024, 300, 128, 300)
    assert [(j["norm"], j["score"]) for j in EXPERIMENT.jobs("paper", 0) if j["seed"] == 0] == [
        ("none", "order"),
        ("layer", "order"),
        ("none", "cosine"),
    ]
    assert MARGINS == {"order": 0.05, "cosine": 0.2}
    made = task()
    assert (made.clip, made.optimizer.param_groups[0]["lr"]) == (2.0, 1e-3)


@pytest.mark.parametrize("scale", STUDIES)
def test_runs_differ_in_norm_and_seed_and_share_their_keys(scale: str) -> None:
    jobs = EXPERIMENT.jobs(scale, 5)
    assert (
        len({tuple(job.items()) for job in jobs})
        == len(jobs)
        == sum(s.seeds * len(s.norms) for s in STUDIES[scale])
    )
    assert len({tuple(job) for job in jobs}) == 1
    assert jobs[0]["seed"] == 5
    assert {job["norm"] for job in jobs[:2]} == set(order_embedding.NORMS)


@pytest.mark.parametrize(("norm", "score"), [("none", "order"), ("layer", "order"), ("none", "cosine")])
def test_equal_seeds_give_equal_rows(norm: str, score: str) -> None:
    def rows() -> list[dict[str, float]]:
        found = train(task(norm, score=score)).rows
        return [{k: v for k, v in row.items() if k != "seconds"} for row in found]

    first = rows()
    assert first == rows()
    assert [row["update"] for row in first] == [0, 2, 4]
    missed = 100 - np.mean([first[-1][f"valid_image_r{k}"] for k in TOP])
    assert first[-1]["valid_missed"] == pytest.approx(missed)


def test_both_norms_see_the_same_batches() -> None:
    one, other = (next(iter(task(norm).batches)) for norm in order_embedding.NORMS)
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_processes_share_a_batch_evenly() -> None:
    shares = [task(machine=Machine(rank=rank, world=2)) for rank in range(2)]
    whole = next(iter(task().batches))
    halves = [next(iter(share.batches)) for share in shares]
    for k, cases in enumerate(whole):
        assert torch.equal(torch.stack([half[k] for half in halves], 1).flatten(0, 1), cases)


def test_the_loss_is_a_literal_sum_over_the_batch() -> None:
    made = task(machine=Machine(dtype=torch.float64))
    words, lengths, owner = next(iter(made.batches))
    found = made.loss(made.model, (words, lengths, owner), noise_of(0, 0))
    captions = made.points(words, lengths)
    images = made.images("train")[owner]
    expected = 0.0
    for n, m in product(range(len(owner)), repeat=2):
        if owner[n] != owner[m]:
            right = (captions[n] - images[n]).clamp_min(0).square().sum()
            for wrong in ((captions[m] - images[n]), (captions[n] - images[m])):
                expected += (0.05 + right - wrong.clamp_min(0).square().sum()).clamp_min(0).item()
    assert found.dtype == torch.float64
    assert found.item() == pytest.approx(expected, rel=1e-12)


def test_float32_is_near_float64() -> None:
    double, single = task(machine=Machine(dtype=torch.float64)), task()
    cases = next(iter(single.batches))
    losses = [t.loss(t.model, cases, noise_of(0, 0)).item() for t in (double, single)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)  # rounding of a sum of 480 terms in float32


def test_points_of_many_captions_come_in_their_order() -> None:
    made = task()
    words, lengths = made.encoded(["a red ball", "something", "a small red ball and a large blue box"])
    with torch.no_grad():
        together = made.points(words, lengths, chunk=2)
        alone = torch.cat([made.points(words[k : k + 1], lengths[k : k + 1]) for k in range(3)])
    torch.testing.assert_close(together, alone)


def test_padding_is_below_a_tenth() -> None:
    made = task(batch_size=128)
    assert made.batches.padding() < 0.1

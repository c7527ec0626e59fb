"""The small language model: its text, its yardsticks, its runs."""

import numpy as np
import pytest
import torch

from lnbook.shared import characters as transformer
from lnbook.shared.characters import Text

TINY = transformer.Scale(2, 8, 2, 1, length=8, batch=4, updates=3, every=2, warm_up=2, rate=1e-2, processes=1)


@pytest.fixture
def text():
    return transformer.read("smoke")


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setitem(transformer.SCALES, "smoke", TINY)


def test_pairs_tell_what_single_characters_do_not():
    codes = np.tile([0, 1], 1000)
    turns = Text("ab", codes[:1800], codes[1800:])
    assert transformer.bits_of_counts(turns, 0) == pytest.approx(1, abs=1e-3)  # a last half step
    assert transformer.bits_of_counts(turns, 1) == pytest.approx(0, abs=0.01)


def test_runs_of_a_seed_share_their_passages_and_repeat_themselves(text, tiny):
    jobs = [("post", "layer", False, 1.0), ("pre", "rms", True, 1.0)]
    once, again = (transformer.runs(text, jobs, (3,), "smoke") for _ in range(2))
    for job in jobs:
        assert [r["bits"] for r in once[job][0]] == [r["bits"] for r in again[job][0]]
        assert [r["update"] for r in once[job][0]] == [0, 2, 3]
        assert once[job][0][0]["placement"] == job[0]
    assert once[jobs[0]][0][0]["bits"] != once[jobs[1]][0][0]["bits"]


def test_the_first_update_moves_by_the_share_of_the_rate_and_by_its_warming_up(text, monkeypatch):
    moved = []
    for warm, share in ((False, 1.0), (False, 0.25), (True, 1.0)):
        size = transformer.Scale(1, 8, 2, 1, 8, 4, updates=1, every=1, warm_up=100, rate=1e-4, processes=1)
        monkeypatch.setitem(transformer.SCALES, "smoke", size)
        job = {"placement": "pre", "norm": "layer", "warm": warm, "share": share, "seed": 0}
        first, last = (row["bits"] for row in transformer.run(text.train, text.test, **job, scale="smoke"))
        moved.append(last - first)
    assert moved[1] == pytest.approx(moved[0] / 4, rel=0.05)  # a small step changes the loss in proportion
    assert abs(moved[2]) < 0.02 * abs(moved[0])  # the first of a hundred steps up


def test_a_model_that_says_the_same_everywhere_tells_no_places_apart():
    same = torch.randn(1, 1, 5).expand(2, 3, 5)
    assert transformer._told_apart(same) == pytest.approx(0, abs=1e-6)  # float32
    sure = 1e3 * torch.eye(4).unsqueeze(0)  # four places, four answers
    assert transformer._told_apart(sure.clamp(max=50)) == pytest.approx(2, abs=1e-6)

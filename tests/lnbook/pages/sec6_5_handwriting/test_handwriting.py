"""Experiment 6.5: what a network writes, and its weights in a file."""

from pathlib import Path

import numpy as np
import pytest
import torch

from lnbook.pages.sec6_5_handwriting import samples
from lnbook.pages.sec6_5_handwriting.experiment import EXPERIMENT, lines_of
from lnbook.pages.sec6_5_handwriting.model import Handwriting
from lnbook.training import Machine

JOB = {**EXPERIMENT.jobs("smoke", 0)[1], "lines": 60, "judged": 12}


def untrained() -> tuple[Handwriting, str]:
    """The network, and the alphabet of its lines."""
    model = EXPERIMENT.task(JOB, "smoke", Machine()).model
    assert isinstance(model, Handwriting)
    return model, lines_of(JOB).alphabet


def test_what_is_written_depends_on_seed_and_bias_and_ends_with_the_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, alphabet = untrained()
    monkeypatch.setattr(samples, "MOST", 300)

    def written(seed: int, bias: float = 0.0) -> list[tuple[np.ndarray, np.ndarray]]:
        asked = [(text, bias) for text in ("abcabc", "ff")]
        return samples.write(model, alphabet, asked, torch.Generator().manual_seed(seed))

    one, same, other, narrow = written(0), written(0), written(1), written(0, bias=3.0)
    assert all(np.array_equal(a, b) for (a, _), (b, _) in zip(one, same, strict=True))
    (points, phi), (short, _) = one
    assert not np.array_equal(points[1:3], other[0][0][1:3])
    # the untrained window moves at the pace of the data, so that it leaves the text sooner or later
    assert len(short) < len(points) <= 300
    assert phi.shape == (len(points) - 1, 6)
    assert np.abs(narrow[0][0][1:, :2]).std() < np.abs(points[1:, :2]).std()
    monkeypatch.setattr(samples, "MOST", 5)
    assert len(written(0)[0][0]) == 6


def test_weights_come_back_in_sixteen_bits_with_their_story(tmp_path: Path) -> None:
    model, alphabet = untrained()
    told = {"job": JOB, "alphabet": alphabet, "commit": "abc"}
    samples.save_weights(tmp_path / "w.npz", model, told)
    again, facts = samples.load_weights(tmp_path / "w.npz")
    assert facts == told
    for (name, p), (other, q) in zip(model.named_parameters(), again.named_parameters(), strict=True):
        assert name == other
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-6)  # 11 bits of a float16

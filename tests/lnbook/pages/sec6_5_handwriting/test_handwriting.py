"""Experiment 6.5: its runs, its task, the bound that it must not beat, and what a network writes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from lnbook.data.strokes import Lines, load_lines
from lnbook.pages.sec6_5_handwriting import drawings, samples
from lnbook.pages.sec6_5_handwriting import experiment as handwriting
from lnbook.pages.sec6_5_handwriting.experiment import EXPERIMENT, STUDIES, Writing, wanted
from lnbook.pages.sec6_5_handwriting.model import Handwriting
from lnbook.training import Machine, noise_of, train
from lnbook.training.runs import label, run


def small(**changes: Any) -> dict[str, Any]:
    return (
        dict(EXPERIMENT.jobs("smoke", 0)[1]) | {"lines": 60, "judged": 12, "updates": 4, "rows": 2} | changes
    )


def lines(job: dict[str, Any]) -> Lines:
    return load_lines(job["data"], wanted(job), on_stand_in="silent")


def task(machine: Machine | None = None, **changes: Any) -> Writing:
    job = small(**changes)
    return Writing(lines(job), machine or Machine(), job)


def test_the_paper_scale_is_the_papers() -> None:
    first = EXPERIMENT.jobs("paper", 0)[0]
    expected = {"data": "iam_ondb", "units": 400, "components": 20, "points": 500, "batch_size": 8, "back": 0}
    assert {key: first[key] for key in expected} == expected
    assert first["rate"] == 0.001  # Adam's own
    assert first["lines"] == first["judged"] == 12_179  # all that a part has


@pytest.mark.parametrize("scale", STUDIES)
def test_runs_differ_and_share_their_keys(scale: str) -> None:
    jobs = EXPERIMENT.jobs(scale, 5)
    assert len({tuple(job.items()) for job in jobs}) == len(jobs)
    assert len(jobs) == sum(study.seeds * len(study.norms) for study in STUDIES[scale])
    assert len({tuple(job) for job in jobs}) == 1
    assert jobs[0]["seed"] == 5
    assert {job["norm"] for job in jobs[:2]} == set(handwriting.NORMS)


def test_the_known_likelihood_is_approached_and_not_beaten() -> None:
    """On fresh lines, whose exact likelihood is known. A model that were better would have a wrong loss."""
    study = replace(STUDIES["book"][-1], updates=500, rows=2)
    job = small(
        **{k: getattr(study, k) for k in ("units", "components", "lines", "judged", "longest", "points")}
    )
    job |= {"updates": 500, "rate": study.rate, "back": 0, "judged": 200}
    trained = Writing(lines(job), Machine(), job)
    rows = train(trained, job=job, progress=False).rows
    exact = trained.parts["test"][4].numpy()
    excess = samples.nats_of(trained, "test") - exact
    error = excess.std() / len(excess) ** 0.5
    assert excess.mean() > -4 * error
    assert excess.mean() < 0.1 * (rows[0]["test_nats"] - rows[0]["test_exact"])  # of about 115 nats
    assert rows[-1]["test_exact"] == pytest.approx(exact.mean())
    assert rows[-1]["test_nats"] == pytest.approx(excess.mean() + exact.mean())


@pytest.mark.parametrize("norm", handwriting.NORMS)
def test_equal_seeds_give_equal_rows(norm: str) -> None:
    def rows() -> list[dict[str, float]]:
        found = train(task(norm=norm), job=small(norm=norm)).rows
        return [{k: v for k, v in row.items() if k != "seconds"} for row in found]

    assert rows() == rows()


def test_processes_that_share_a_batch_have_its_loss_between_them() -> None:
    whole, *shares = (task(Machine(rank=rank, world=world)) for rank, world in ((0, 1), (0, 2), (1, 2)))
    losses = [t.loss(t.model, next(iter(t.batches)), noise_of(0, 0)).detach() for t in (whole, *shares)]
    torch.testing.assert_close(losses[0], (losses[1] + losses[2]) / 2)


def test_float64_is_float64_to_the_end_and_near_float32() -> None:
    double, single = task(Machine(dtype=torch.float64)), task()
    cases = next(iter(single.batches))
    losses = [t.loss(t.model, cases, noise_of(0, 0)).detach() for t in (double, single)]
    assert losses[0].dtype == torch.float64
    assert abs(losses[0] - losses[1]) < 1e-4  # of about 2: rounding of some dozens of points in float32


def test_both_norms_see_the_same_batches_and_begin_with_the_same_weights() -> None:
    plain, normed = (task(norm=norm) for norm in handwriting.NORMS)
    for one, other in zip(next(iter(plain.batches)), next(iter(normed.batches)), strict=True):
        torch.testing.assert_close(one, other, equal_nan=True)
    theirs = dict(normed.model.named_parameters())
    assert all(torch.equal(p, theirs[name]) for name, p in plain.model.named_parameters())


def test_batches_pad_little() -> None:
    assert Writing(lines(small(lines=1000)), Machine(), small(lines=1000)).batches.padding() < 0.1


def test_the_measure_does_not_depend_on_how_cases_are_grouped() -> None:
    t = task()
    cases = t.parts["test"]
    with torch.no_grad():
        whole = t.measure(t.model, cases, noise_of(0, 0))
        parts = [t.measure(t.model, tuple(x[k : k + 5] for x in cases), noise_of(0, 0)) for k in (0, 5, 10)]
    for name, value in whole.items():
        assert float(value) == pytest.approx(float(sum(part[name] for part in parts)), rel=1e-5)


# ------------------------------------------------------------------------------- what it writes


def model_of(job: dict[str, Any]) -> Handwriting:
    model = Writing(lines(job), Machine(), job).model
    assert isinstance(model, Handwriting)
    return model


def test_what_is_written_depends_on_seed_and_bias_and_ends_with_the_text() -> None:
    job = small()
    model, data = model_of(job), lines(job)
    texts = ["abcabc", "ff"]

    def written(seed: int, bias: float = 0.0) -> list[samples.Script]:
        return samples.write(
            model, data.alphabet, texts, torch.Generator().manual_seed(seed), bias=bias, most=300
        )

    one, same, other = written(0), written(0), written(1)
    assert all(np.array_equal(a.points, b.points) for a, b in zip(one, same, strict=True))
    assert not np.array_equal(one[0].points[1:3], other[0].points[1:3])
    assert [script.text for script in one] == texts
    # the untrained window moves at the pace of the data, so that it leaves the text sooner or later
    assert all(script.done for script in one)
    for script in one:
        assert script.points[0].tolist() == [0, 0, 1]
        assert len(script.points) == len(script.phi) + 1
        assert script.phi.shape[1] == len(script.text)
        assert set(np.unique(script.points[:, 2])) <= {0.0, 1.0}
    assert len(one[1].points) < len(one[0].points)
    wide, narrow = written(0), written(0, bias=3.0)
    assert np.abs(narrow[0].points[1:, :2]).std() < np.abs(wide[0].points[1:, :2]).std()


def test_a_line_that_does_not_end_is_cut() -> None:
    job = small()
    (script,) = samples.write(model_of(job), lines(job).alphabet, ["abcabc"], torch.Generator(), most=5)
    assert not script.done
    assert len(script.points) == 6


def test_the_window_that_reads_along_is_the_one_of_the_writing() -> None:
    job = small()
    model, data = model_of(job), lines(job)
    (script,) = samples.write(model, data.alphabet, ["abc"], torch.Generator(), most=40)
    phi = samples.read_along(model, data.alphabet, "abc", script.points)
    np.testing.assert_allclose(phi, script.phi, atol=1e-5)


def test_weights_come_back_in_sixteen_bits_with_their_story(tmp_path: Path) -> None:
    job = small()
    model, data = model_of(job), lines(job)
    told = {"job": job, "alphabet": data.alphabet, "commit": "abc"}
    samples.save_weights(tmp_path / "w.npz", model, told)
    again, facts = samples.load_weights(tmp_path / "w.npz")
    assert facts == told
    for (name, p), (other, q) in zip(model.named_parameters(), again.named_parameters(), strict=True):
        assert name == other
        torch.testing.assert_close(p, q, rtol=1e-3, atol=1e-6)  # 11 bits of a float16


def test_a_finished_runs_model_is_found_in_its_folder(tmp_path: Path) -> None:
    job = small()
    run(EXPERIMENT, "smoke", jobs=[job], folder=tmp_path, processes=1, progress=False)
    found = samples.trained(job, "smoke", tmp_path)
    assert (tmp_path / label(job)).is_dir()
    assert samples.nats_of(found, "valid").shape == (12,)


def test_a_text_with_other_characters_is_refused() -> None:
    job = small()
    with pytest.raises(ValueError, match="it has no"):
        samples.write(model_of(job), lines(job).alphabet, ["xyz"], torch.Generator())


def test_a_page_at_paper_scale_shows_lines_that_need_no_registration_and_each_seed_once() -> None:
    for scale in STUDIES:
        jobs = handwriting.shown(scale, 5)
        assert jobs[-1]["data"] == "generated_strokes"
        assert "iam_ondb" not in {job["data"] for job in jobs}
        runs = [(job["data"], job["norm"], job["rate"], job["seed"]) for job in jobs]
        assert len(set(runs)) == len(runs)


def test_the_words_for_losses_say_where_each_begins_and_ends() -> None:
    band = pd.DataFrame({"update": [1, 2], "mean": [5.0, 3.0], "low": [4.0, 2.0], "high": [6.0, 4.0]})
    words = drawings.told({"a": {"none": band}, "b": {"layer": band}})
    assert words.endswith("a, none: 5 to 3; b, layer: 5 to 3")

"""Experiment 6.2: its runs, its task, that it learns, and that nothing beats the floor."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from lnbook.curves import recorded
from lnbook.data.readings import FIRST_MARKER, load_readings
from lnbook.data.stories import floor
from lnbook.pages.sec6_2_attentive_reader import experiment as attentive_reader
from lnbook.pages.sec6_2_attentive_reader.batches import PairBatches
from lnbook.pages.sec6_2_attentive_reader.experiment import EXPERIMENT, KINDS, STUDIES, Reading
from lnbook.pages.sec6_2_attentive_reader.extras import PRINTED, RELEASED
from lnbook.pages.sec6_2_attentive_reader.model import NORMS
from lnbook.training import Machine, noise_of, train

SMALL = {"units": 8, "rate": 1e-2, "batch_size": 16, "updates": 4, "rows": 2}


def task(norm: str = "layer", machine: Machine | None = None, limit: int = 200, **changes: Any) -> Reading:
    readings = load_readings("stories", limit=limit)
    settings: dict[str, Any] = {"gain": 1.0, "start": "small", "seed": 0, **SMALL, **changes}
    return Reading(readings, machine or Machine(), norm=norm, **settings)


def test_the_paper_scale_is_the_papers() -> None:
    study = STUDIES["paper"][0]
    assert (study.data, study.units, study.rate, study.batch_size) == ("cnn", 240, 8e-5, 64)
    assert study.updates // study.rows == 1000
    assert Reading.clip == 10
    assert {norm for norm, *_ in KINDS} == set(NORMS)
    gains = {(norm, gain) for norm, gain, _ in study.kinds}
    assert {(norm, gain) for norm in ("batch", "layer") for gain in (0.1, 1.0)} <= gains


def test_the_paper_scale_reads_the_most_relevant_sentences_with_the_reader_of_the_public_code() -> None:
    for job in EXPERIMENT.jobs("paper", 0):
        assert {key: job[key] for key in ("cut", *asdict(RELEASED))} == {"cut": "top4", **asdict(RELEASED)}
    small = {**EXPERIMENT.jobs("paper", 0)[-1], "data": "stories", "words": 60, **SMALL}
    made = EXPERIMENT.task(small, "smoke", Machine())
    assert isinstance(made, Reading)
    assert made.model.extras == RELEASED
    found = [train(EXPERIMENT.task(small, "smoke", Machine())).rows for _ in range(2)]
    one, other = ([row["valid_nll"] for row in rows] for rows in found)
    assert one == other  # dropout, too, is a function of the seed and the update


def test_the_paper_scale_reads_sentences_from_all_of_a_passage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for part in ("training", "validation"):
        folder = tmp_path / "cnn" / "questions" / part
        folder.mkdir(parents=True)
        for k in range(20):
            asked = f"@placeholder {('won', 'left')[k % 2]}"
            text = f"http://x\n\n{'it rained . ' * 6}@entity0 won . she left .\n\n{asked}\n\n@entity0\n\n"
            (folder / f"{k:02}.question").write_text(f"{text}@entity0:Ann\n", encoding="utf-8")
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    made = EXPERIMENT.task({**EXPERIMENT.jobs("paper", 0)[0], **SMALL}, "paper", Machine())
    assert isinstance(made, Reading)
    for q in made.readings.questions:
        last = f"{q.answer} won ." if q.query[1] == "won" else "she left ."
        assert " ".join(q.passage) == f"{'it rained . ' * 3}{last}"


def test_the_recorded_study_is_still_the_one_to_run() -> None:
    _, facts = recorded("attentive_reader")
    assert [run["job"] for run in facts["runs"]] == EXPERIMENT.jobs("study", 100)


@pytest.mark.parametrize("norm", NORMS)
def test_switches_that_are_off_change_no_number(norm: str) -> None:
    def rows(**switches: Any) -> list[dict[str, float]]:
        found = train(task(norm, **switches)).rows
        return [{key: value for key, value in row.items() if key != "seconds"} for row in found]

    plain = rows()
    assert rows(**asdict(PRINTED)) == plain
    assert rows(**asdict(RELEASED)) != plain


@pytest.mark.parametrize("scale", STUDIES)
def test_runs_differ_in_kind_and_seed_and_share_their_keys(scale: str) -> None:
    jobs = EXPERIMENT.jobs(scale, 5)
    assert len({tuple(job.items()) for job in jobs}) == len(jobs)
    assert len(jobs) == sum(s.seeds * len(s.kinds) for s in STUDIES[scale])
    assert len({tuple(job) for job in jobs}) == 1
    assert jobs[0]["seed"] == 5


def test_the_reader_learns_the_stories_and_stays_above_their_floor() -> None:
    found = train(task(limit=1000, units=32, updates=60, batch_size=64)).rows
    first, last = (row["valid_error"] for row in (found[0], found[-1]))
    assert found[0]["valid_cases"] == 1000
    # 5/6 is a guess of one of six; 0.65 is one of the two people in the story: right for half of 70 %
    assert last < 0.72 < 0.78 < first
    assert last > floor() - 4 * (floor() * (1 - floor()) / 1000) ** 0.5


@pytest.mark.parametrize("norm", NORMS)
def test_equal_seeds_give_equal_rows(norm: str) -> None:
    def rows() -> list[dict[str, float]]:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in train(task(norm)).rows]

    assert rows() == rows()


@pytest.mark.parametrize("norm", NORMS)
def test_processes_share_a_batch_and_permute_differently(norm: str) -> None:
    shares = [task(norm, Machine(rank=rank, world=2)) for rank in range(2)]
    whole, *halves = (next(t.batches) for t in (task(norm), *shares))
    for index in range(5):
        assert torch.equal(torch.stack([half[index] for half in halves], 1).flatten(0, 1), whole[index])
    one, other = (t.read(t.model, whole, noise_of(0, 0, rank))[2][0] for rank, t in enumerate(shares))
    words = whole[0] >= FIRST_MARKER + 6
    assert torch.equal(one[words], other[words])
    assert not torch.equal(one, other)


@pytest.mark.parametrize("norm", NORMS)
def test_float64_is_float64_to_the_end_and_near_float32(norm: str) -> None:
    double, single = (
        task(norm, Machine(dtype=dtype), start="unit") for dtype in (torch.float64, torch.float32)
    )
    cases = next(single.batches)
    losses = [t.loss(t.model, cases, noise_of(0, 0)) for t in (double, single)]
    assert losses[0].dtype == torch.float64
    assert abs(losses[0] - losses[1]) < 1e-3  # of about 2; batch norm over 16 cases amplifies rounding


def test_the_measure_is_the_share_of_wrong_answers_after_a_permutation() -> None:
    t = task()
    t.model.train(mode=False)
    cases = tuple(x[:50] for x in t.parts["valid"])
    with torch.no_grad():
        found = t.measure(t.model, cases, noise_of(0, -1))
        scores, attention, (passages, *_, answers) = t.read(t.model, cases, noise_of(0, -1))
    wrong, on = torch.tensor(0), 0.0
    for n in range(50):
        wrong = wrong + (scores[n].argmax() != answers[n])
        on += sum(
            float(a) for a, w in zip(attention[n], passages[n], strict=True) if w == answers[n] + FIRST_MARKER
        )
    assert found["error"] == wrong
    assert found["on_answer"] == pytest.approx(on, rel=1e-5)


def test_batches_hold_less_than_a_tenth_of_padding() -> None:
    t = attentive_reader.EXPERIMENT.task(EXPERIMENT.jobs("smoke", 0)[0], "smoke", Machine())
    assert isinstance(t.batches, PairBatches)
    assert t.batches.padding() < 0.1
    assert replace(Machine(), rank=0) == Machine()

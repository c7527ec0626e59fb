"""What every experiment of Section 6 keeps: its scales, starts and batches, repeatability, and float64."""

import warnings
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch

from lnbook.cli.experiments import EXPERIMENTS, MODULES, find
from lnbook.data import DATA_SETS, loaded, readings, strokes
from lnbook.ledger.rows import read_facts
from lnbook.pages.sec6_1_order_embeddings import experiment as order_embedding
from lnbook.pages.sec6_2_attentive_reader.model import RELEASED
from lnbook.pages.sec6_3_skip_thoughts import corpus
from lnbook.training import Group, Machine, Task, noise_of, train
from lnbook.training.runs import jobs_of, label

RESULTS = Path(__file__).resolve().parents[3] / "book" / "results"
NORMS = {section: dict.fromkeys(j["norm"] for j in find(section).jobs("smoke", 0)) for section in EXPERIMENTS}
KINDS = [(section, norm) for section, norms in NORMS.items() for norm in norms]
PAPER: dict[str, dict[str, Any]] = {
    "6.1": {"data": "coco_vgg", "units": 1024, "word_size": 300, "batch_size": 128}
    | {"every": 300, "rate": 1e-3},
    "6.2": {"data": "cnn", "units": 240, "rate": 8e-5, "batch_size": 64, "cut": "top4", **RELEASED},
    "6.3": {"units": 2400, "size": 620, "words": 20_000, "batch_size": 128, "longest": 30, "rate": 2e-4}
    | {"updates": 1_000_000, "rows": 20, "quick": 0},
    "6.4": {"glimpses": 64, "units": 256, "codes": 100, "read": 2, "write": 5, "batch_size": 128}
    | {"updates": 200 * (50_000 // 128)},
    "6.5": {"data": "iam_ondb", "units": 400, "components": 20, "points": 500, "batch_size": 8, "back": 0}
    | {"rate": 1e-3, "lines": 12_179, "judged": 12_179},  # all that a part has
}
COMPARED = {
    "6.1": (("norm", "score"), {("none", "order"), ("layer", "order"), ("none", "cosine")}),
    "6.2": (
        ("norm", "gain"),
        {("none", 1.0), *product(("batch", "layer"), (0.1, 1.0)), ("batch everywhere", 0.1)},
    ),
    "6.3": (("norm", "decoder"), {*product(("none", "layer"), ("article", "code"))}),
    "6.4": (("norm",), {("none",), ("layer",)}),
    "6.5": (("norm",), {("none",), ("layer",)}),
}
CLIP = {"6.1": 2.0, "6.2": 10.0, "6.3": 10.0, "6.4": 10.0, "6.5": 1.0}
# Rounding in float32: of losses of about 100, 2 and 170 (batch norm amplifies it); of 45 and 2 elsewhere.
NEAR = {"6.1": {"rel": 1e-5}, "6.2": {"abs": 1e-3}, "6.3": {"abs": 1e-3}}


def task(section: str, norm: str = "layer", machine: Machine | None = None, **changes: object) -> Task:
    """A smoke run of two updates."""
    experiment = find(section)
    job = next(j for j in experiment.jobs("smoke", 0) if j["norm"] == norm)
    made = experiment.task({**job, **changes}, "smoke", machine or Machine())
    made.updates, made.every = 2, 1
    return made


@pytest.mark.parametrize("section", PAPER)
def test_the_paper_scale_is_the_papers(section: str) -> None:
    jobs = find(section).jobs("paper", 0)
    for job in jobs:
        assert {key: job[key] for key in PAPER[section]} == PAPER[section]
    keys, runs = COMPARED[section]
    assert {tuple(job[key] for key in keys) for job in jobs} == runs
    assert task(section).clip == CLIP[section]


@pytest.mark.parametrize("scale", ["smoke", "book", "study", "paper"])
@pytest.mark.parametrize("section", EXPERIMENTS)
def test_the_runs_of_a_scale_have_equal_settings_and_folders_of_their_own(section: str, scale: str) -> None:
    if (section, scale) == ("6.7", "paper"):  # of which the paper says nothing
        with pytest.raises(ValueError, match="names no network, no data and no numbers"):
            jobs_of(find(section), scale, 5)
        return
    found = jobs_of(find(section), scale, 5)
    assert min(job["seed"] for job in found) == 5
    assert all(job.keys() == found[0].keys() >= {"norm", "seed"} for job in found)
    assert len({label(job) for job in found}) == len(found)


@pytest.mark.parametrize(("section", "norm"), KINDS)
def test_equal_seeds_give_equal_rows(section: str, norm: str) -> None:
    one, other = (train(task(section, norm)).rows for _ in range(2))
    assert [row["update"] for row in one] == [0, 1, 2]
    for row, same in zip(one, other, strict=True):
        assert {**row, "seconds": 0} == {**same, "seconds": 0}


@pytest.mark.parametrize("section", [s for s in EXPERIMENTS if s != "6.6"])
def test_all_norms_begin_with_the_same_weights_and_layer_norm_with_gains_of_one(section: str) -> None:
    plain, other = (dict(task(section, "none", seed=seed).model.named_parameters()) for seed in (0, 1))
    assert not all(torch.equal(value, other[name]) for name, value in plain.items())
    for norm in set(NORMS[section]) - {"none", "propagation"}:
        begun = dict(task(section, norm).model.named_parameters())
        for name in begun.keys() & plain.keys():
            assert torch.equal(begun[name], plain[name]), (norm, name)
        added = begun.keys() - plain.keys()
        assert added
        for name in added if norm == "layer" else ():
            value, gain = begun[name], "gain" in name or ("norms" in name and "weight" in name)
            assert torch.equal(value, torch.full_like(value, float(gain))), name


@pytest.mark.parametrize("section", EXPERIMENTS)
def test_all_norms_see_the_same_batches_and_processes_share_them(section: str) -> None:
    first, *others = (next(task(section, norm).batches) for norm in NORMS[section])
    halves = [next(task(section, machine=Machine(group=Group(rank, 2))).batches) for rank in range(2)]
    shared = tuple(torch.stack(pair, 1).flatten(0, 1) for pair in zip(*halves, strict=True))
    for seen in (*others, shared):
        torch.testing.assert_close(seen, first, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("section", ["6.3", "6.5"])
def test_the_measure_does_not_depend_on_how_cases_are_grouped(section: str) -> None:
    t = task(section)
    cases = t.parts["valid"]
    with torch.no_grad():
        whole = t.measure(t.model, cases, noise_of(0, 0))
        groups = zip(*(x.split(5) for x in cases), strict=True)
        parts = [t.measure(t.model, group, noise_of(0, 0)) for group in groups]
    for name, value in whole.items():
        assert float(value) == pytest.approx(float(sum(part[name] for part in parts)), rel=1e-5)


@pytest.mark.parametrize(("section", "norm"), KINDS)
def test_float64_is_float64_to_the_end_and_near_float32(section: str, norm: str) -> None:
    changes = {"start": "unit"} if section == "6.2" else {}
    tasks = [task(section, norm, Machine(dtype=dtype), **changes) for dtype in (torch.float64, torch.float32)]
    cases = next(tasks[1].batches)
    double, single = (t.loss(t.model, cases, noise_of(0, 0)).detach() for t in tasks)
    assert double.dtype == torch.float64
    assert float(single) == pytest.approx(float(double), **NEAR.get(section, {"abs": 1e-4}))


@pytest.mark.parametrize("scale", ["study", "paper"])
@pytest.mark.parametrize("name", MODULES)
def test_every_recorded_run_is_one_that_its_experiment_still_describes(name: str, scale: str) -> None:
    """Seeds apart; what older rows do not say was the same for all."""
    try:
        facts = read_facts(name, scale=scale, folder=RESULTS)
    except FileNotFoundError:
        return
    described = [{**job, "seed": 0} for job in find(name).jobs(scale, 0)]
    for run_facts in facts["runs"]:
        recorded = {**run_facts["job"], "seed": 0}
        assert any(recorded.items() <= job.items() for job in described), recorded


FEW = {"handwriting": {"lines": 200, "judged": 20}}  # thousands of lines take a minute to compose


def forget() -> None:
    """Drop what other tests have loaded, from other places."""
    for kept in (readings.load_readings, strokes.load_lines, corpus.corpus, corpus.tasks):
        kept.cache_clear()
    order_embedding.captions_of.cache_clear()


@pytest.fixture
def nothing_known(nothing_there: None) -> Iterator[None]:
    forget()
    yield
    forget()


@pytest.mark.parametrize("name", EXPERIMENTS.values())
def test_without_data_a_run_can_begin_and_nothing_is_written_to_stderr(
    name: str, nothing_known: None, capfd: pytest.CaptureFixture[str]
) -> None:
    experiment = find(name)
    job = experiment.jobs("study", 0)[-1] | FEW.get(name, {})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task = experiment.task(job, "study", Machine())
    assert capfd.readouterr().err == ""
    assert len(next(task.batches)[0]) >= 1
    assert any(facts["source"] == "embedded" for facts in loaded())
    named = set(experiment.data(job, "study"))
    instead = {DATA_SETS[name].stand_in for name in named & DATA_SETS.keys()}  # some runs ask for it by name
    assert {facts["requested"] for facts in loaded()} <= named | instead

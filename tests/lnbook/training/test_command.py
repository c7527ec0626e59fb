"""`python -m lnbook run`: sweeps, arrays, resumption, what is gathered, and what is refused."""

import csv
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from small import EXPERIMENT, JOB, jobs, without_clock

from lnbook.__main__ import main
from lnbook.cli import run as command
from lnbook.cli.experiments import find
from lnbook.data import load, loaded
from lnbook.ledger.rows import as_csv
from lnbook.training import Job, Machine, RunFolder, Task, sweep, torch_threads, train
from lnbook.training.checkpoint import Outcome
from lnbook.training.runs import Runs, label, run

DIGITS = "digits", "binarized_digits"
ONE = ["--only", "norm=layer", "--only", "seed=0"]


def table(out: Path) -> list[dict[str, str]]:
    return without_clock(list(csv.DictReader((out / "small.csv").read_text().splitlines())))


def facts(out: Path) -> dict[str, Any]:
    return json.loads((out / "small.json").read_text())


def as_text(rows: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """As a CSV file has them: empty where a row has no such column."""
    return list(csv.DictReader(as_csv(rows).decode().splitlines()))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., int]]:
    """`python -m lnbook run small --scale smoke` with options, in this process."""
    monkeypatch.setattr(command, "find", lambda name: EXPERIMENT)
    monkeypatch.setattr("lnbook.ledger.provenance._commit", lambda: "a1b2")  # whoever tests edits, too
    with torch_threads(1):
        yield lambda *options: main(["run", "small", "--scale", "smoke", *map(str, options)])


@pytest.fixture(scope="module")
def whole() -> list[dict[str, Any]]:
    """The rows of all runs of the small experiment, as `run` gives them."""
    return without_clock([row for outcome in run(EXPERIMENT, "smoke") for row in outcome.rows])


def test_a_sweep_leaves_rows_provenance_a_table_and_a_line_a_row(small, whole, tmp_path, capfd):
    assert small("--out", tmp_path) == 0
    assert table(tmp_path) == as_text(whole)
    found = facts(tmp_path)
    assert (found["scale"], found["processes"], found["machine"]) == ("smoke", 1, "cpu")
    assert [entry["job"] for entry in found["runs"]] == jobs("smoke", 0)
    assert {"commit", "torch", "threads", "device"} <= set(found)
    assert found["rules"] == {}
    study = Runs(replace(EXPERIMENT, name="permutation_mnist_right"), "paper", Machine()).rules
    assert [*study] == ["s66-right-error", "s66-right-lower", "s66-right-faster"]
    out, err = capfd.readouterr()
    assert f"The rows are in {tmp_path / 'small.csv'}\n6 of 6 runs are done" in out
    lines = err.splitlines()
    assert len(lines) == 6 * 7
    assert lines[1].startswith("norm-layer_dropout-0.0_seed-0: update 7/40, 0 s, train_loss 0.")


def test_runs_that_have_begun_are_neither_mixed_nor_lost_unasked(small, whole, tmp_path, capsys):
    assert small("--out", tmp_path, "--only", "norm=layer") == 0
    assert small("--out", tmp_path, "--only", "norm=layer") == 2
    assert "2 of these runs have begun" in capsys.readouterr().err
    assert small("--out", tmp_path, "--resume") == 0
    assert table(tmp_path) == as_text(whole)
    assert small("--out", tmp_path, "--resume", "--dtype", "float64") == 1
    assert "holds another run: dtype = 'torch.float32' there" in capsys.readouterr().err
    assert table(tmp_path) == as_text(whole)


@pytest.mark.parametrize("loss", ["nan", "inf"])
def test_no_finite_loss_fails_its_run_only_and_keeps_its_rows(
    small, whole, tmp_path, monkeypatch, capsys, loss
):
    def task(job: Any, scale: str, machine: Any) -> Any:
        monkeypatch.setenv("FAULT", f"{loss} 17" if job["norm"] == "layer" and job["seed"] == 0 else "none 0")
        return EXPERIMENT.task(job, scale, machine)

    monkeypatch.setattr(command, "find", lambda name: replace(EXPERIMENT, task=task))
    assert small("--out", tmp_path) == 1
    said = f"The loss became {loss} at update 17; the last finite loss was 0."
    assert f"norm-layer_dropout-0.0_seed-0: {said}" in capsys.readouterr().err
    assert table(tmp_path) == as_text([*whole[:3], *whole[8:]])
    assert [bool(entry["failed"]) for entry in facts(tmp_path)["runs"]] == [True] + [False] * 5
    assert small("--out", tmp_path, "--resume") == 1  # it stays a failure


def test_a_run_that_another_process_is_at_is_refused_and_the_others_go_on(small, tmp_path, capsys):
    with RunFolder(tmp_path / "small" / label(jobs("smoke", 0)[0]), {}, {}):
        assert small("--out", tmp_path, "--only", "norm=layer", "--resume") == 1
        assert "is in use by another process" in capsys.readouterr().err
    assert {row["seed"] for row in table(tmp_path)} == {"1"}


def test_a_run_goes_on_only_with_the_data_the_code_and_the_rules_that_it_began_with(
    small, tmp_path, monkeypatch, capsys
):
    def everything_is(word: str) -> None:
        monkeypatch.setattr("lnbook.ledger.provenance._commit", lambda: word)
        monkeypatch.setattr("lnbook.training.runs.content_of", lambda name: word)
        monkeypatch.setattr("lnbook.training.runs._rules_of", lambda study: {"a": word})

    monkeypatch.setattr("lnbook.training.runs.train", partial(train, every_seconds=0))
    monkeypatch.setenv("DATA", "points")
    everything_is("old")
    assert small("--out", tmp_path / "whole", *ONE) == 0
    out = tmp_path / "out"
    with monkeypatch.context() as patched:
        patched.setenv("FAULT", "stop 30")
        assert small("--out", out, *ONE) == 130
    assert "Interrupted. Go on with --resume" in capsys.readouterr().err
    everything_is("new")
    assert small("--out", out, "--resume", *ONE) == 1
    there, here = (f"commit = '{w}', data:points = '{w}', rule a = '{w}'" for w in ("old", "new"))
    assert f"{there} there, {here} here" in capsys.readouterr().err
    everything_is("old")
    assert small("--out", out, "--resume", *ONE) == 0
    assert table(out) == table(tmp_path / "whole")


def test_a_study_accepts_a_stand_in_only_if_told_to(small, nothing_there, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DATA", "mnist")
    words = ["--out", tmp_path, "--scale", "study", *ONE]
    assert small(*words) == 1
    assert "To run what stands in for it, give --anyway." in capsys.readouterr().err
    assert not (tmp_path / "small").exists()
    assert small(*words, "--anyway") == 0


def test_what_does_not_exist_is_refused_with_what_does(small, tmp_path, monkeypatch, capsys):
    assert small("--out", tmp_path, "--only", "norm=layer", "--only", "dropout=0.3") == 2
    assert small("--out", tmp_path, "--seed", "-1") == 2
    monkeypatch.setattr(command, "find", find)
    assert small("--out", tmp_path) == 2
    unknown, seed, experiment = capsys.readouterr().err.splitlines()
    assert unknown.startswith("No run has norm=layer and dropout=0.3; write KEY=VALUE with one of {'norm': ")
    assert seed.startswith("Seeds go from 0 to below 2**32")
    assert experiment.startswith("There is no experiment 'small'; there are 6.1 (order_embedding), ")
    assert not list(tmp_path.iterdir())


def test_rows_are_recorded_beside_those_of_the_run(small, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "book_dir", lambda: tmp_path / "book")
    some = ["--out", tmp_path, "--only", "norm=layer", "--record"]
    assert small(*some) == 2  # a part
    assert small(*some, "--resume", "--anyway") == 0
    kept = tmp_path / "book" / "results" / "smoke" / "small.csv"
    assert kept.read_bytes() == (tmp_path / "small.csv").read_bytes()


def test_a_run_says_what_it_read_and_not_what_runs_before_it_in_the_process_did():
    def reading(job: Job, scale: str, machine: Machine) -> Task:
        load(DIGITS[job["seed"]])
        return EXPERIMENT.task(job, scale, machine)

    experiment = replace(EXPERIMENT, task=reading, data=lambda job, scale: [DIGITS[job["seed"]]])
    both = [{**JOB, "seed": seed} for seed in (0, 1)]
    found = run(experiment, "smoke", jobs=both)
    assert [[data["name"] for data in one.facts["data"]] for one in found] == [[name] for name in DIGITS]


def test_what_runs_read_in_processes_of_their_own_is_named_by_the_process_that_asked(monkeypatch):
    read = {"name": "digits", "requested": "mnist", "source": "embedded"}
    ended = [Outcome({**JOB, "seed": seed}, [], {"data": [dict(read)]}) for seed in (0, 1)]
    monkeypatch.setattr("lnbook.training.runs.sweep", lambda *work, **options: ended)
    run(EXPERIMENT, "smoke", jobs=[one.job for one in ended])
    assert loaded() == [read]


def where(note: str, number: int) -> dict[str, Any]:
    """The arguments, and where it ran."""
    return {"of": (note, number), "threads": torch.get_num_threads(), "process": os.getpid()}


def test_a_sweep_gives_the_same_in_parallel_and_in_turn_and_in_the_order_of_the_jobs(monkeypatch):
    before, jobs = torch.get_num_threads(), [{"number": n} for n in (3, 1, 2, 1)]
    monkeypatch.setenv("LNLIB_CORES", "1")  # what a build says
    alone, together = (sweep(where, jobs, common=("note",), processes=n) for n in (None, 2))
    for found in (alone, together):
        assert [one["of"] for one in found] == [("note", n) for n in (3, 1, 2, 1)]
        assert {one["threads"] for one in found} == {1}
        assert (os.getpid() in {one["process"] for one in found}) == (found is alone)
    assert torch.get_num_threads() == before

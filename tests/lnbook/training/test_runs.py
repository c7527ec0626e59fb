"""`python -m lnbook run`: sweeps, arrays, resumption, what is gathered, and what is refused."""

import csv
import errno
import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small import EXPERIMENT, JOB, UPDATES, Command, jobs, without_clock

from lnbook.__main__ import main as lnbook
from lnbook.cli import run as command
from lnbook.data import load
from lnbook.data.sources import loaded
from lnbook.training import DamagedCheckpoint, Job, Machine, RunFolder, Task
from lnbook.training.identity import identity
from lnbook.training.report import stand_ins, summary
from lnbook.training.runs import Outcome, label, run

DIGITS = "digits", "binarized_digits"


def table(out: Path) -> list[dict[str, str]]:
    with (out / "small.csv").open(newline="") as file:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]


def contents(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def facts(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "small.json").read_text())
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The rows of all runs of the small experiment, as `run` gives them."""
    outcomes = run(EXPERIMENT, "smoke", processes=1, progress=False)
    return without_clock([row for outcome in outcomes for row in outcome.rows])


def as_text(rows: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """As a CSV file has them: empty where a row has no such column."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    return [{k: "" if row.get(k) is None else str(row[k]) for k in names} for row in rows]


def test_small_runs_stay_in_this_process_unless_others_are_asked_for(whole: list[dict[str, Any]]) -> None:
    here: list[int] = []

    def task(*given: Any) -> Any:  # which another process could not be sent
        here.append(os.getpid())
        return EXPERIMENT.task(*given)

    outcomes = run(replace(EXPERIMENT, task=task), "smoke", progress=False)
    assert set(here) == {os.getpid()}
    assert without_clock([row for outcome in outcomes for row in outcome.rows]) == whole


def test_a_sweep_leaves_rows_provenance_a_table_and_a_line_a_row(
    small: Command, whole: list[dict[str, Any]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert small("--out", tmp_path) == 0
    assert table(tmp_path) == as_text(whole)
    found = facts(tmp_path)
    assert (found["scale"], found["processes"], found["machine"]) == ("smoke", 1, "cpu")
    assert [entry["job"] for entry in found["runs"]] == jobs("smoke", 0)
    assert {"commit", "torch", "threads", "device"} <= set(found)
    out, err = capfd.readouterr()
    assert "norm   dropout  seeds  test_nll" in out
    assert f"6 of 6 runs are done; the rows of 6 are in {tmp_path / 'small.csv'}" in out
    lines = err.splitlines()
    assert len(lines) == 6 * 7
    assert all(len(line) < 120 for line in lines)
    assert lines[1].startswith("norm=layer dropout=0.0 seed=0: update 7/40, ")
    assert "examples/s" in lines[1]


def test_the_table_has_means_and_intervals_over_seeds(whole: list[dict[str, Any]]) -> None:
    text = summary(whole, list(JOB))
    values = [r["test_nll"] for r in whole if r["selected"] and (r["norm"], r["dropout"]) == ("layer", 0.0)]
    mean, half = (
        sum(values) / 2,
        abs(values[0] - values[1]) / 2 * 12.706,
    )  # Student's t with one degree
    line = next(line for line in text.splitlines() if line.startswith("layer"))
    assert line.split()[1:6] == ["0.0", "2", f"{mean:.4g}", "±", f"{half:.2g}"]
    assert summary([], list(JOB)) == ""
    unselected = [row for row in whole if not row["selected"]]
    assert f"{unselected[6]['test_nll']:.4g}" in summary(unselected[:7], list(JOB))


def test_the_commands_of_an_array_and_a_last_one_that_gathers_equal_a_sweep(
    small: Command, whole: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert small("--out", tmp_path, "--only", "seed=1", "--list") == 0
    listed = [shlex.split(line, comments=True) for line in capsys.readouterr().out.splitlines()]
    assert not (tmp_path / "small").exists()
    assert len(listed) == 4
    *array, last = listed
    for words in reversed(array):  # in any order
        assert words[:3] == ["python", "-m", "lnbook"]
        assert lnbook(words[3:]) == 0
        assert not (tmp_path / "small.csv").exists()
    assert lnbook(last[3:]) == 0
    assert table(tmp_path) == as_text([row for row in whole if row["seed"] == 1])


def test_runs_that_have_begun_are_neither_mixed_nor_lost_unasked(
    small: Command, whole: list[dict[str, Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert small("--out", tmp_path, "--only", "norm=layer") == 0
    assert small("--out", tmp_path, "--only", "norm=layer") == 2
    assert "2 of these runs have begun" in capsys.readouterr().err
    assert small("--out", tmp_path, "--resume") == 0
    assert table(tmp_path) == as_text(whole)
    assert small("--out", tmp_path, "--resume", "--dtype", "float64") == 1
    assert "holds another run: dtype = 'torch.float32' there" in capsys.readouterr().err
    assert table(tmp_path) == as_text(whole)
    assert small("--out", tmp_path, "--restart", "--dtype", "float64", "--only", "norm=layer") == 0
    assert "torch.float64" in {entry.get("dtype") for entry in facts(tmp_path)["runs"]}


def test_a_nan_loss_fails_its_run_only_and_keeps_its_rows(
    small: Command,
    whole: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def task(job: Any, scale: str, machine: Any) -> Any:
        monkeypatch.setenv("FAULT", "nan 17" if job["norm"] == "layer" and job["seed"] == 0 else "none 0")
        return EXPERIMENT.task(job, scale, machine)

    monkeypatch.setattr(command, "find", lambda name: replace(EXPERIMENT, task=task))
    assert small("--out", tmp_path) == 1
    assert "nan at update 17 of norm = layer, dropout = 0.0, seed = 0" in capsys.readouterr().err
    assert table(tmp_path) == as_text([*whole[:3], *whole[8:]])
    failed = [entry["failed"] for entry in facts(tmp_path)["runs"]]
    assert [bool(text) for text in failed] == [True] + [False] * 5
    assert small("--out", tmp_path, "--resume") == 1  # it stays a failure until --restart


def test_rows_of_runs_under_way_are_gathered_on_request(
    small: Command,
    whole: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert small("--out", tmp_path, "--only", "norm=layer") == 0
    monkeypatch.setenv("FAULT", "raise 30")
    with pytest.raises(RuntimeError, match="asked for"):
        small("--out", tmp_path, "--only", "norm=batch", "--only", "seed=1", "--resume", "--every", "0")
    before = contents(tmp_path / "small")
    assert small("--out", tmp_path, "--gather") == 0
    assert "2 of 6 runs are done; the rows of 2" in capsys.readouterr().out
    assert small("--out", tmp_path, "--gather", "--partial") == 0
    assert "2 of 6 runs are done; the rows of 3" in capsys.readouterr().out
    assert contents(tmp_path / "small") == before
    under_way = [row for row in table(tmp_path) if row["norm"] == "batch"]
    expected = [
        row for row in as_text(whole) if (row["norm"], row["dropout"], row["seed"]) == ("batch", "0.0", "1")
    ]
    assert under_way[:5] == expected[:5]
    assert [(row["update"], row["selected"]) for row in under_way[4:]] == [
        ("28", "0"),
        (under_way[5]["update"], "1"),
    ]
    assert facts(tmp_path)["runs"][2]["unfinished"] == f"update 29 of {UPDATES}"


def test_a_damaged_outcome_is_said_and_made_anew(
    small: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only = ["--only", "norm=layer", "--only", "seed=0"]
    assert small("--out", tmp_path, *only) == 0
    before = table(tmp_path)
    (file,) = tmp_path.rglob("outcome.json")
    file.write_bytes(file.read_bytes()[:-9])
    assert small("--out", tmp_path, "--gather") == 1
    said = capsys.readouterr()
    assert f"{file} is damaged" in said.err
    assert "None of 6 runs has finished" in said.out
    with pytest.warns(DamagedCheckpoint, match=r"outcome\.json"):
        assert small("--out", tmp_path, *only, "--resume") == 0
    assert table(tmp_path) == before


def test_a_run_that_another_process_is_at_is_refused_and_the_others_go_on(
    small: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = jobs("smoke", 0)[0]
    what = identity(EXPERIMENT, first, "smoke", Machine(), {})
    with RunFolder(tmp_path / "small" / label(first), what):
        assert small("--out", tmp_path, "--only", "norm=layer", "--resume") == 1
        assert f"is in use by process {os.getpid()}" in capsys.readouterr().err
    assert {row["seed"] for row in table(tmp_path)} == {"1"}


def test_where_nothing_can_be_written_is_said_before_training(
    small: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("FAULT", "raise 1")
    assert small("--out", tmp_path / "file" / "below") == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_disk_that_fills_up_stops_the_runs_clearly_and_resuming_loses_nothing(
    small: Command,
    whole: list[dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real, calls = os.fsync, iter(range(10**6))

    def fsync(number: int) -> None:
        if next(calls) >= 30:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(number)

    only = ["--only", "norm=layer"]
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fsync)
        assert small("--out", tmp_path, *only, "--every", "0") == 1
    assert capsys.readouterr().err.count("No space left on device. What was written before is whole") == 2
    assert small("--out", tmp_path, *only, "--resume") == 0
    assert table(tmp_path) == as_text([row for row in whole if row["norm"] == "layer"])


def test_a_full_disk_leaves_gathered_rows_as_they_were(
    small: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert small("--out", tmp_path, "--only", "norm=layer") == 0
    before = (tmp_path / "small.csv").read_bytes()

    def fsync(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fsync)
        assert small("--out", tmp_path, "--gather") == 1
    assert "cannot be written: No space left on device" in capsys.readouterr().err
    assert (tmp_path / "small.csv").read_bytes() == before


def test_a_table_of_runs_says_once_which_data_stood_in_for_what() -> None:
    digits = {"name": "digits", "requested": "mnist"}
    facts = [{"data": [digits, {"name": "sick", "requested": "sick"}]}, {"data": [digits]}, {}]
    assert stand_ins(facts) == ["mnist was not available; digits stood in for it."]
    assert stand_ins([{"data": [{"name": "mnist"}]}]) == []


def test_the_rows_of_a_part_are_gathered_and_not_recorded_unless_that_is_accepted(
    small: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "book_dir", lambda: tmp_path / "book")
    monkeypatch.setattr("lnbook.ledger.provenance._commit", lambda: "0123456789ab")
    assert small("--out", tmp_path, "--only", "norm=layer") == 0
    assert small("--out", tmp_path, "--gather", "--partial", "--record") == 2
    said = capsys.readouterr()
    assert f"the rows of 2 are in {tmp_path / 'small.csv'}" in said.out
    assert "Nothing is recorded: 2 of 6 runs have finished" in said.err
    assert not (tmp_path / "book").exists()
    assert small("--out", tmp_path, "--gather", "--record", "--accept", "partial") == 0
    kept = tmp_path / "book" / "results" / "smoke" / "small.csv"
    assert kept.read_bytes() == (tmp_path / "small.csv").read_bytes()
    assert json.loads(kept.with_suffix(".json").read_text())["accepted"] == ["partial"]


def test_a_run_says_what_it_read_and_not_what_runs_before_it_in_the_process_did() -> None:
    def reading(job: Job, scale: str, machine: Machine) -> Task:
        load(DIGITS[job["seed"]])
        return EXPERIMENT.task(job, scale, machine)

    experiment = replace(EXPERIMENT, task=reading, data=lambda job, scale: [DIGITS[job["seed"]]])
    both = [{**JOB, "seed": seed} for seed in (0, 1)]
    found = run(experiment, "smoke", jobs=both, processes=1, progress=False)
    assert [[data["name"] for data in one.facts["data"]] for one in found] == [[name] for name in DIGITS]


def test_what_runs_read_in_processes_of_their_own_is_named_by_the_process_that_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = {"name": "digits", "requested": "mnist", "source": "embedded"}
    ended = [Outcome({**JOB, "seed": seed}, [], {"data": [dict(read)]}) for seed in (0, 1)]
    monkeypatch.setattr("lnbook.training.runs.sweep", lambda *work, **options: ended)
    run(EXPERIMENT, "smoke", jobs=[one.job for one in ended], progress=False)
    assert loaded() == [read]

"""`python -m lnbook run --plan`: what it takes and leaves out, where it stops, and what becomes the record.

Its experiments are three copies of `small`: "first" has the section of the biggest question, "second" has two
scales, "third" none at the paper's sizes. The clock advances by a second whenever it is read, for example at
each update.
"""

import csv
import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from small import EXPERIMENT, UPDATES, Ticks

from lnbook.__main__ import main as lnbook
from lnbook.cli import run as command
from lnbook.training import Experiment, Job

Planned = Callable[..., int]  # `python -m lnbook run --plan` with these options


def jobs(scale: str, seed: int) -> list[Job]:
    seeds = {"paper": 2, "study": 1}[scale]
    dropout = {"paper": 0.0, "study": 0.3}[scale]
    return [
        {"norm": norm, "dropout": dropout, "seed": seed + k}
        for k in range(seeds)
        for norm in ("layer", "batch")
    ]


def at_study(scale: str, seed: int) -> list[Job]:
    if scale == "paper":
        raise ValueError("The paper names no sizes.")
    return jobs(scale, seed)


def at_paper(scale: str, seed: int) -> list[Job]:
    if scale == "study":
        raise ValueError("There is no study.")
    return jobs(scale, seed)[:2]


THREE = (
    replace(EXPERIMENT, name="second", section="6.6", jobs=jobs),
    replace(EXPERIMENT, name="third", section="6.7", jobs=at_study),
    replace(EXPERIMENT, name="first", section="6.4", jobs=at_paper),
)


@pytest.fixture
def experiments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Experiment]:
    """By name; a test may put others there. The record is in `book/results` of the test's folder."""
    found = {one.name: one for one in THREE}
    monkeypatch.setattr(command, "EXPERIMENTS", {one.section: one.name for one in THREE})
    by_section = {one.section: one.name for one in THREE}
    monkeypatch.setattr(command, "find", lambda name: found[by_section.get(name, name)])
    monkeypatch.setattr(command, "book_dir", lambda: tmp_path / "book")
    monkeypatch.setattr("lnbook.ledger.provenance._commit", lambda: "0123456789ab")
    monkeypatch.setenv("FAULT", "none 0")
    torch.set_num_threads(1)
    return found


@pytest.fixture
def planned(experiments: dict[str, Experiment], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Planned:
    def started(*options: Any) -> int:
        monkeypatch.setattr(command, "clock", Ticks())
        words = ["run", "--plan", "--processes", "1", "--out", str(tmp_path / "out"), *map(str, options)]
        return lnbook(words)

    return started


def tables(folder: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of every table, without their clock."""
    found = {}
    for file in sorted(folder.glob("*/*.csv")):
        with file.open(newline="") as text:
            rows = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(text)]
        found[file.relative_to(folder).as_posix()] = rows
    return found


@pytest.fixture
def whole(experiments: dict[str, Experiment], tmp_path: Path) -> dict[str, list[dict[str, str]]]:
    """What `run` gives for all that is open."""
    for name, scale in (("first", "paper"), ("second", "paper"), ("second", "study"), ("third", "study")):
        out = tmp_path / "whole" / scale
        assert lnbook(["run", name, "--scale", scale, "--processes", "1", "--out", str(out)]) == 0
    return tables(tmp_path / "whole")


def listed(planned: Planned, capsys: pytest.CaptureFixture[str], *options: Any) -> list[list[str]]:
    capsys.readouterr()
    assert planned("--list", *options) == 0
    return [shlex.split(line, comments=True) for line in capsys.readouterr().out.splitlines()]


def of(words: list[str]) -> tuple[str, str, int]:
    return words[4], words[words.index("--scale") + 1], int(words[words.index("--job") + 1])


ALL = [
    *(("first", "paper", k) for k in range(2)),
    *(("second", "paper", k) for k in range(4)),
    *(("third", "study", k) for k in range(2)),
    *(("second", "study", k) for k in range(2)),
]


def test_a_plan_is_listed_by_its_questions_and_its_commands_do_what_it_does(
    planned: Planned, whole: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    *commands, last = listed(planned, capsys)
    assert [of(words) for words in commands] == ALL
    assert not (tmp_path / "out").exists()
    for words in reversed(commands):
        assert words[:4] == ["python", "-m", "lnbook", "run"]
        assert lnbook(words[3:]) == 0
    assert tables(tmp_path / "out") == {}
    assert lnbook(last[3:]) == 0
    assert tables(tmp_path / "out") == whole
    assert "Nothing is left to run." in capsys.readouterr().out
    assert len(listed(planned, capsys)) == 1


def test_a_list_says_what_fits_into_the_minutes_and_what_goes_on_later(
    planned: Planned, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert planned("--list", "--minutes", 1e6, "--dtype", "float64", "--seed", 7) == 0
    said = capsys.readouterr()
    lines = said.out.splitlines()
    assert [of(shlex.split(line, comments=True)) for line in lines[:-1]] == ALL
    assert all(line.endswith(", about 0 minutes") for line in lines[:-1])
    assert all("--resume --seed 7 --out" in line and "--dtype float64 " in line for line in lines[:-1])
    assert said.err.count("timing a few updates") == 8  # four tables of two norms; seeds are alike
    second = 1 / 60 + 1e-9  # hardly anything is left of it when it is first asked for
    assert planned("--list", "--minutes", second) == 0
    first, *rest = capsys.readouterr().out.splitlines()
    assert first.endswith("norm=layer, does not fit")
    assert len(rest) == 1
    assert not (tmp_path / "out").exists()


def test_a_plan_runs_all_that_is_open_and_a_second_one_has_nothing_to_do(
    planned: Planned, whole: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert planned() == 0
    assert tables(tmp_path / "out") == whole
    said = capsys.readouterr()
    assert "10 runs: 6.4 first, scale paper; 6.6 second, scale paper; 6.7 third, scale study" in said.err
    assert "6.7 third, scale paper: The paper names no sizes." in said.err
    assert "second paper norm=batch seed=1: update 40/40" in said.err
    assert planned() == 0
    assert "update 40/40" not in capsys.readouterr().err


@pytest.mark.parametrize("updates", [13, 100])
def test_at_the_deadline_runs_stop_and_later_give_the_rows_of_an_uninterrupted_plan(
    planned: Planned,
    whole: dict[str, Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    updates: int,
) -> None:
    capsys.readouterr()
    assert planned("--minutes", updates / 60) == 0
    said = capsys.readouterr()
    done, into = divmod(sum(map(kept, (tmp_path / "out").rglob("job.json"))), UPDATES)
    assert 0 < done * UPDATES + into < updates
    assert f"{10 - done} runs are unfinished, {int(into > 0)} of them begun" in said.out
    again = said.out.splitlines()[-1].partition("Go on with: ")[2]
    assert shlex.split(again)[:5] == ["python", "-m", "lnbook", "run", "--plan"]
    if into:
        assert f"update {into} of {UPDATES}" in said.out
    assert planned() == 0
    assert tables(tmp_path / "out") == whole


def kept(job: Path) -> int:
    return max(int(file.stem) for file in job.parent.glob("*.checkpoint"))


def test_what_has_begun_goes_on_before_what_has_not(
    planned: Planned,
    experiments: dict[str, Experiment],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = ["--scale", "paper", "--out", str(tmp_path / "out" / "paper"), "--processes", "1"]
    monkeypatch.setenv("FAULT", "stop 9")
    assert lnbook(["run", "second", *out, "--only", "norm=batch", "--only", "seed=1"]) == 130
    order = [of(words) for words in listed(planned, capsys)[:-1]]
    assert order[:4] == [*ALL[:2], ("second", "paper", 3), ("second", "paper", 0)]
    assert sorted(order) == sorted(ALL)


def test_runs_without_their_data_are_left_out_and_it_is_said_how_to_get_them(
    planned: Planned,
    experiments: dict[str, Experiment],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "data"))
    (tmp_path / "data").mkdir()
    asked = {"layer": ["iam_ondb"], "batch": ["digits"]}
    experiments["first"] = replace(THREE[2], data=lambda job, scale: asked[job["norm"]])
    experiments["second"] = replace(THREE[0], data=lambda job, scale: ["digits", "mnist"])
    assert planned("--list") == 0
    said = capsys.readouterr()
    order = [of(shlex.split(line, comments=True)) for line in said.out.splitlines()[:-1]]
    assert order == [ALL[1], *ALL[6:8]]
    assert "6.4 first, scale paper: 1 of 2 open runs are left out. iam_ondb is not here" in said.err
    assert "$LNLIB_DATA/iam_ondb/" in said.err
    assert "6.6 second, scale paper: 4 of 4 open runs are left out. mnist is not here" in said.err
    assert "`python -m lnbook data --download mnist`" in said.err


def recorded(tmp_path: Path) -> Path:
    return tmp_path / "book" / "results"


def test_rows_become_the_record_only_when_asked_and_when_all_are_there(
    planned: Planned, whole: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert planned("--minutes", 190 / 60) == 0
    assert not recorded(tmp_path).exists()
    assert planned("--gather", "--record") == 0
    assert "Nothing is recorded until all runs are there: 2 of 4 by now" in capsys.readouterr().out
    assert list(tables(recorded(tmp_path))) == ["paper/first.csv"]
    assert planned("--record") == 0
    assert tables(recorded(tmp_path)) == whole
    capsys.readouterr()
    assert planned("--record") == 0
    assert capsys.readouterr().out == "Nothing is left to run.\n"


def part(tmp_path: Path) -> None:
    """Put the runs of one seed, which is not 0, into the second experiment's record."""
    out = ["--scale", "paper", "--seed", "5", "--out", str(tmp_path / "part"), "--processes", "1"]
    ways = ["--record", "--accept", "partial"]
    assert lnbook(["run", "second", *out, "--only", "seed=5", *ways]) == 0


def test_what_is_recorded_is_not_run_again_and_stays_beside_what_is_new(
    planned: Planned, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part(tmp_path)
    before = json.loads((recorded(tmp_path) / "paper" / "second.json").read_text())
    order = [of(words) for words in listed(planned, capsys)[:-1]]
    assert order == [run for run in ALL if run not in ALL[2:4]]
    assert planned("--record") == 0
    assert "beside 2 recorded before" in capsys.readouterr().out
    out = ["--scale", "paper", "--seed", "5", "--out", str(tmp_path / "at once"), "--processes", "1"]
    assert lnbook(["run", "second", *out]) == 0
    (one,) = (rows for name, rows in tables(tmp_path).items() if name == "at once/second.csv")
    assert tables(recorded(tmp_path))["paper/second.csv"] == one
    facts = json.loads((recorded(tmp_path) / "paper" / "second.json").read_text())
    assert [run["job"]["seed"] for run in facts["runs"]] == [5, 5, 6, 6]
    assert [run["seconds"] for run in facts["runs"][:2]] == [run["seconds"] for run in before["runs"]]


def test_runs_in_other_numbers_are_not_recorded_beside_those_that_are(
    planned: Planned, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part(tmp_path)
    before = tables(recorded(tmp_path))
    assert planned("--record", "--dtype", "float64") == 2
    assert "differ from the recorded ones in dtype (torch.float32 or torch.float64)" in (
        capsys.readouterr().err
    )
    after = tables(recorded(tmp_path))
    assert after["paper/second.csv"] == before["paper/second.csv"]
    assert list(after) == ["paper/first.csv", "paper/second.csv", "study/second.csv", "study/third.csv"]


def test_the_usual_objections_keep_rows_from_the_record(
    planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lnbook.ledger.provenance._commit", lambda: "0123456789ab+")
    assert planned("--record") == 2
    assert capsys.readouterr().err.count("runs were made by code that differs from its commit") == 4
    assert not recorded(tmp_path).exists()
    assert planned("--gather", "--record", "--accept", "dirty") == 0
    assert len(tables(recorded(tmp_path))) == 4


def test_an_interrupted_plan_says_how_to_go_on_and_does(
    planned: Planned,
    whole: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("FAULT", "stop 9")
        assert planned() == 130
    assert "stopped after update 9 of 40. Go on with the same command." in capsys.readouterr().err
    assert planned() == 0
    assert tables(tmp_path / "out") == whole


def test_a_record_that_was_changed_by_hand_is_refused_before_anything_runs(
    planned: Planned, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part(tmp_path)
    file = recorded(tmp_path) / "paper" / "second.csv"
    file.write_bytes(file.read_bytes().replace(b"layer", b"batch"))
    assert planned() == 2
    assert "the rows are not those recorded" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_runs_beside_each_other_stop_at_the_deadline_and_give_the_same_rows(
    planned: Planned, whole: dict[str, Any], tmp_path: Path
) -> None:
    # each process gets the clock as it was at the beginning, so that each run stops
    assert planned("--processes", 2, "--minutes", 30 / 60) == 0
    assert 0 < sum(map(kept, (tmp_path / "out").rglob("job.json"))) < 10 * UPDATES
    assert planned("--processes", 2) == 0
    assert tables(tmp_path / "out") == whole


def test_a_run_that_fails_is_said_and_the_others_are_made(
    planned: Planned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAULT", "nan 3 0 1")
    assert planned() == 1
    said = capsys.readouterr()
    assert said.err.count("The loss became nan at update 3") == 2
    assert "Nothing is left to run." in said.out
    assert len(tables(tmp_path / "out")) == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--plan", "6.6"], "it does not go with 6.6. Leave that out"),
        (["--plan", "--job", "0"], "does not go with --job"),
        (["--plan", "--only", "norm=layer", "--scale", "paper"], "does not go with --scale, --only"),
        (["--plan", "--restart", "--partial"], "does not go with --restart, --partial"),
        (["--plan", "--settings"], "does not go with --settings"),
        (["--plan", "--seed", "-1"], "--seed is the first seed, from 0 to below 2**32; got -1"),
        (["--plan", "--minutes", "0"], "--minutes is how long a plan may run, more than 0; got 0.0"),
        (["--plan", "--minutes", "nan"], "got nan"),
        (["--plan", "--gather", "--minutes", "4"], "got 4.0 with --gather, which runs nothing"),
        (["--plan", "--list", "--gather"], "goes with neither --restart nor --gather"),
        (["6.6", "--minutes", "4"], "--minutes is for --plan"),
        ([], "Name an experiment (6.1, 6.2"),
    ],
)
def test_options_that_a_plan_cannot_follow_are_refused_with_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: list[str], said: str
) -> None:
    assert lnbook(["run", "--out", str(tmp_path / "out"), *options]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_plan_of_processes_that_train_together_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    assert lnbook(["run", "--plan"]) == 2
    assert "[process 1] --plan goes on with runs" in capsys.readouterr().err

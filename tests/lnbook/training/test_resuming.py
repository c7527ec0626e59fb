"""A run goes on as what it was: with other data never, with other code only if that is asked and recorded."""

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small import EXPERIMENT, Command, without_clock

from lnbook.__main__ import main
from lnbook.cli import run as command
from lnbook.data import DATA_SETS, DataSet, PublishedFile

HERE = Path(__file__).resolve().parent
ONE = ["--only", "norm=layer", "--only", "seed=0"]
CONTENT = b"1 2 3\n"


@pytest.fixture
def points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The published file of a data set, which the small experiment is about, in a user's folder."""
    file = PublishedFile("points.txt", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
    entry = DataSet("points", "Points", (file,), (), "none", "nobody", stand_in="digits")
    monkeypatch.setitem(DATA_SETS, "points", entry)
    for name, value in {
        "LNLIB_OFFLINE": "1",
        "LNLIB_CACHE": str(tmp_path / "cache"),
        "DATA": "points",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "data"))
    path = tmp_path / "data" / "points" / "points.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    return path


def interrupted(small: Command, out: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("FAULT", "raise 30")
        with pytest.raises(RuntimeError, match="asked for"):
            small("--out", out, "--every", "0", *ONE, *options)


def contents(folder: Path) -> dict[Path, bytes]:
    kept = (file for file in folder.rglob("*") if file.is_file() and file.name not in ("lock", "owner"))
    return {file: file.read_bytes() for file in kept}


def rows(out: Path) -> list[dict[str, Any]]:
    (outcome,) = out.glob("small/*/outcome.json")
    return without_clock(json.loads(outcome.read_bytes())["rows"])


def test_a_run_does_not_go_on_without_its_data_and_does_when_they_are_back(
    small: Command,
    points: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert small("--out", tmp_path / "whole", *ONE) == 0
    out = tmp_path / "out"
    interrupted(small, out, monkeypatch)
    before = contents(out)
    points.rename(tmp_path / "away")
    assert small("--out", out, "--resume", *ONE) == 1
    said = capsys.readouterr().err
    listing = f"{hashlib.sha256(CONTENT).hexdigest()}  points.txt\n"
    assert f"data:points = '{hashlib.sha256(listing.encode()).hexdigest()}' there" in said
    assert "data:points = 'stand-in' here; put back the data that it began with" in said
    assert "--restart" in said
    assert contents(out) == before
    (tmp_path / "away").rename(points)
    assert small("--out", out, "--resume", *ONE) == 0
    assert rows(out) == rows(tmp_path / "whole")


def test_a_run_on_a_stand_in_does_not_go_on_with_data_that_came(
    small: Command,
    points: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    points.unlink()
    interrupted(small, tmp_path / "out", monkeypatch)
    points.write_bytes(CONTENT)
    assert small("--out", tmp_path / "out", "--resume", *ONE) == 1
    assert "data:points = 'stand-in' there" in capsys.readouterr().err
    assert small("--out", tmp_path / "out", "--restart", *ONE) == 0


def test_runs_of_one_table_do_not_begin_beside_those_with_other_data(
    small: Command, points: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert small("--out", tmp_path / "out", *ONE) == 0
    points.unlink()
    assert small("--out", tmp_path / "out", "--only", "norm=batch") == 1
    assert "norm-layer_dropout-0.0_seed-0 holds another run: data:points" in capsys.readouterr().err
    assert len(list((tmp_path / "out" / "small").iterdir())) == 1


def test_data_that_vanish_while_runs_are_under_way_end_up_in_no_run(
    small: Command,
    points: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def task(job: Any, scale: str, machine: Any) -> Any:
        if job["seed"] == 1:
            points.unlink()
        return EXPERIMENT.task(job, scale, machine)

    monkeypatch.setattr(command, "find", lambda name: replace(EXPERIMENT, task=task))
    assert small("--out", tmp_path / "out", "--only", "norm=layer") == 1
    assert "The data set points changed while the runs were under way" in capsys.readouterr().err
    assert len(list(tmp_path.glob("out/small/*/outcome.json"))) == 1


def test_data_of_a_folder_that_nobody_publishes_are_told_by_all_their_files(
    small: Command,
    points: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delitem(DATA_SETS, "points")
    interrupted(small, tmp_path / "out", monkeypatch)
    other = tmp_path / "other" / "points" / "points.txt"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"1 2 4\n")
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "other"))
    assert small("--out", tmp_path / "out", "--resume", *ONE) == 1
    assert "holds another run: data:points = '" in capsys.readouterr().err
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "data"))
    assert small("--out", tmp_path / "out", "--resume", *ONE) == 0


@pytest.mark.parametrize("scale", ["study", "paper"])
def test_a_study_refuses_a_stand_in_before_it_begins_unless_it_is_asked_for(
    small: Command, points: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], scale: str
) -> None:
    points.unlink()
    words = ["--out", tmp_path / "out", "--scale", scale, *ONE]
    assert small(*words) == 1
    said = capsys.readouterr().err
    assert f"Scale {scale} of small is about points." in said
    assert "python -m lnbook data --download points" in said
    assert "--accept stand-in, or --scale book" in said
    assert not (tmp_path / "out").exists()
    assert small(*words, "--accept", "stand-in") == 0
    points.write_bytes(b"1 2 4\n")
    assert small("--out", tmp_path / "second", "--scale", scale, *ONE) == 1
    assert "is not the published file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("section", "scale", "name"),
    [
        ("6.1", "study", "coco_captions"),
        ("6.2", "study", "gutenberg"),
        ("6.3", "paper", "gutenberg"),
        ("6.4", "paper", "binarized_mnist"),
        ("6.5", "study", "omniglot_strokes"),
        ("6.6", "paper", "mnist"),
        ("6.7", "study", "fashion_mnist"),
    ],
)
def test_no_experiment_trains_on_digits_what_is_to_be_said_of_its_data(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    section: str,
    scale: str,
    name: str,
) -> None:
    nothing = {"LNLIB_DATA": "", "LNLIB_OFFLINE": "1", "LNLIB_CACHE": str(tmp_path / "cache")}
    for variable, value in nothing.items():
        monkeypatch.setenv(variable, value)
    assert main(["run", section, "--scale", scale, "--out", str(tmp_path / "out")]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"Scale {scale} of ")
    assert f" is about {name}. " in said
    assert not (tmp_path / "out").exists()


class Changing:
    """The small experiment as a file of its own that is changed from one process to the next."""

    def __init__(self, folder: Path) -> None:
        self.file, self.out = folder / "small.py", folder / "out"
        self.file.write_text((HERE / "small.py").read_text())

    def change(self, old: str, new: str) -> None:
        text = self.file.read_text()
        assert text.count(old) == 1
        self.file.write_text(text.replace(old, new))

    def __call__(self, *options: str, fault: str = "none 0") -> subprocess.CompletedProcess[str]:
        fixed = ["--out", self.out, "--scale", "smoke", "--processes", "1", "--every", "0", *ONE]
        return subprocess.run(
            [sys.executable, self.file, *fixed, *options],
            env=os.environ | {"FAULT": fault},
            capture_output=True,
            text=True,
            check=False,
        )

    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.out / "small.json").read_bytes())
        return found


@pytest.mark.slow
def test_a_run_whose_code_changed_goes_on_only_if_asked_and_says_so(tmp_path: Path) -> None:
    small = Changing(tmp_path)
    assert small(fault="raise 10").returncode == 1
    small.change("Two classes of points;", "Points of two classes;")
    assert small("--resume", fault="raise 10").returncode == 1  # words: it went on
    small.change("return value * self._fault()", "return value * self._fault() * 2")
    refused = small("--resume")
    assert refused.returncode == 1
    assert "holds another run: code:small.py = '" in refused.stderr
    assert "go back to the code that began it" in refused.stderr
    assert "--accept changed-code" in refused.stderr
    assert small("--resume", "--accept", "changed-code", fault="raise 1").returncode == 1
    assert small("--gather", "--partial").returncode == 0
    (under_way,) = small.facts()["runs"]
    assert len(set(small.facts()["codes"])) == 2
    assert "unfinished" in {*under_way, *small.facts()}
    ended = small("--resume")  # from a checkpoint of the code before
    assert ended.returncode == 0, ended.stderr
    assert len(set(small.facts()["codes"])) == 2
    assert small.facts()["codes"][-1] == small.facts()["code"]


@pytest.mark.slow
def test_a_run_of_one_code_says_which(tmp_path: Path) -> None:
    small = Changing(tmp_path)
    assert small(fault="raise 10").returncode == 1
    assert small("--resume").returncode == 0
    assert len(small.facts()["code"]) == 12
    assert "codes" not in small.facts()


@pytest.mark.slow
def test_where_the_file_that_names_a_run_is_damaged_its_checkpoint_tells(tmp_path: Path) -> None:
    small = Changing(tmp_path)
    assert small(fault="raise 10").returncode == 1
    (job,) = small.out.glob("small/*/job.json")
    job.write_bytes(b"{")
    small.change("return value * self._fault()", "return value * self._fault() * 2")
    refused = small("--resume")
    assert refused.returncode == 1
    assert "holds another run: code:small.py = '" in refused.stderr

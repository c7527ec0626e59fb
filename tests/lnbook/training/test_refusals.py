"""What `python -m lnbook run` refuses, and what it says while it runs."""

from dataclasses import replace
from pathlib import Path

import pytest
from small import EXPERIMENT, Command, jobs

from lnbook.__main__ import main as lnbook
from lnbook.cli.experiments import EXPERIMENTS, find
from lnbook.ledger.rows import SCALES
from lnbook.training.report import LogLine
from lnbook.training.runs import jobs_of, run


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--only", "norm=group"], "--only 'norm=group' fits no run"),
        (["--only", "size=3"], "KEY one of ['norm', 'dropout', 'seed']"),
        (["--only", "norm"], "write KEY=VALUE"),
        (["--only", "norm=layer", "--only", "dropout=0.3"], "No run has all of"),
        (["--job", "6"], "--job is 6, but the 6 runs are numbered from 0"),
        (["--resume", "--restart"], "give one"),
        (["--device", "abacus"], "--device abacus"),
        (["--dtype", "float64", "--autocast", "bfloat16"], "--autocast computes in fewer bits"),
        (["--threads", "0"], "must be at least 1"),
        (["--processes", "0"], "must be at least 1; got 1 and 0"),
        (["--every", "-1"], "--every is a time in seconds, from 0; got -1.0"),
        (["--every", "nan"], "got nan"),
        (["--device", "meta"], "--device meta: lnbook computes on cpu or cuda"),
        (["--seed", "-1"], "go from -1 to 0, but must be at least 0 and below 2**32"),
        (["--seed", str(2**32 - 1)], "go from 4294967295 to 4294967296"),
        (["--seed", "9" * 40], "must be at least 0 and below"),
        (["--list", "--restart"], "goes with neither --restart nor --gather"),
        (["--list", "--gather"], "goes with neither --restart nor --gather"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(
    small: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert small("--out", tmp_path, *options) == 2
    assert said in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_an_unknown_experiment_or_scale_is_refused_with_those_that_exist(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert lnbook(["run", "9.9"]) == 2
    said = capsys.readouterr().err
    assert "There is no experiment '9.9'; there are" in said
    assert "6.6 (permutation_mnist)" in said
    with pytest.raises(SystemExit) as stopped:
        lnbook(["run", "6.6", "--scale", "huge"])
    assert stopped.value.code == 2


@pytest.mark.parametrize("section", EXPERIMENTS)
@pytest.mark.parametrize("scale", SCALES)
def test_every_experiment_has_sound_jobs_at_every_scale(section: str, scale: str) -> None:
    experiment = find(section)
    assert experiment.section == section
    assert find(experiment.name) is experiment
    if (section, scale) == ("6.7", "paper"):
        with pytest.raises(ValueError, match="names no network, no data and no numbers"):
            jobs_of(experiment, scale, 3)
        return
    found = jobs_of(experiment, scale, 3)
    assert min(job["seed"] for job in found) == 3
    assert all("norm" in job for job in found)


def test_jobs_that_cannot_be_told_apart_are_refused() -> None:
    with pytest.raises(ValueError, match="must have equal settings, one of them 'seed'"):
        jobs_of(replace(EXPERIMENT, jobs=lambda scale, seed: [{"norm": "layer"}]), "smoke")
    twice = [{"norm": "a b", "seed": 0}, {"norm": "a-b", "seed": 0}]
    with pytest.raises(ValueError, match="would share the folder norm-a-b_seed-0"):
        jobs_of(replace(EXPERIMENT, jobs=lambda scale, seed: twice), "smoke")


def test_the_log_tells_the_pace_since_the_row_before(capsys: pytest.CaptureFixture[str]) -> None:
    line = LogLine("seed=0", 100, "valid_nll")
    row = {"update": 0, "cases_seen": 0, "seconds": 0.0, "train_loss": None, "valid_nll": 2.0}
    line(row)
    line(row | {"update": 10, "cases_seen": 80, "seconds": 0.5, "train_loss": 1.0})
    line(row | {"update": 20, "cases_seen": 160, "seconds": 2.5, "train_loss": 0.5})
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == "seed=0: update 0/100, valid_nll 2"
    assert "update 10/100, 160 examples/s" in second
    assert "40 examples/s" in third
    assert third.endswith("left, train_loss 0.5, valid_nll 2")


def test_a_run_in_a_terminal_shows_bars_in_place_of_lines(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    found = jobs("smoke", 0)[:1]
    run(EXPERIMENT, "smoke", jobs=found, processes=1, progress=True, verbose=True)
    err = capfd.readouterr().err
    assert "update/s" in err
    assert "examples/s" not in err

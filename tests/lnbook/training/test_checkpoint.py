"""A run that was interrupted gives the rows of one that was not, and goes on as what it was or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from small import JOB, Small, without_clock

from lnbook.training import CheckpointError, Machine, RunFolder, torch_threads, train

HERE = Path(__file__).resolve().parent
BEGUN = {**JOB, "commit": "a1b2"}


def test_killed_at_random_instants_a_run_gives_the_same_bits(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, HERE / "killing.py", tmp_path / "killed", "0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    killed, starts = map(int, done.stdout.split())
    assert killed >= 8
    assert starts >= 6
    with torch_threads(1), RunFolder(tmp_path / "whole", JOB) as folder:  # as many as the killed one has
        expected = train(Small(Machine(), **JOB), folder=folder)
    found = RunFolder.outcome_in(tmp_path / "killed")
    assert found is not None
    assert without_clock(found["rows"]) == without_clock(expected.rows)
    weights, right = (
        torch.load(tmp_path / name / "selected.pt", weights_only=True) for name in ("killed", "whole")
    )
    assert weights.keys() == right.keys()
    assert all(torch.equal(weights[name], right[name]) for name in right)
    assert {"1.running_mean", "1.num_batches_tracked"} <= set(right)


def test_a_checkpoint_of_another_run_is_refused_and_that_of_another_commit_unless_accepted(
    tmp_path: Path,
) -> None:
    with RunFolder(tmp_path, BEGUN) as folder:
        folder.save({"update": 7})
    with (
        RunFolder(tmp_path, {**BEGUN, "dropout": 0.5}) as folder,
        pytest.raises(
            CheckpointError, match=r"another run: dropout = 0\.3 there, dropout = 0\.5 here; .*--restart"
        ),
    ):
        folder.load()
    later = {**BEGUN, "commit": "c3d4"}
    with (
        RunFolder(tmp_path, later) as folder,
        pytest.raises(CheckpointError, match=r"'a1b2' there, commit = 'c3d4' here; .*--accept changed-code"),
    ):
        folder.load()
    with RunFolder(tmp_path, later, changed_code=True) as folder:
        assert folder.load() == {"update": 7}
        folder.write_outcome({"rows": [], "facts": {}, "failed": ""})
    with RunFolder(tmp_path, BEGUN) as folder:
        assert folder.outcome() is not None  # what has finished is not gone on with
    with (
        RunFolder(tmp_path, {**BEGUN, "seed": 1}) as folder,
        pytest.raises(CheckpointError, match="seed = 0"),
    ):
        folder.outcome()


def test_two_processes_never_share_a_folder(tmp_path: Path) -> None:
    with RunFolder(tmp_path, JOB):
        with pytest.raises(CheckpointError, match="in use by another process"), RunFolder(tmp_path, JOB):
            pass
        with pytest.raises(CheckpointError, match="in use by another process"):
            RunFolder.clear(tmp_path)


def test_a_checkpoint_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(b"PK")
    with (
        RunFolder(tmp_path, JOB) as folder,
        pytest.raises(CheckpointError, match=r"checkpoint\.pt cannot be read; begin anew with --restart"),
    ):
        folder.load()

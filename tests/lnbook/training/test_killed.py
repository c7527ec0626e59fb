"""A run that is killed at any instant and goes on gives the rows of an uninterrupted one, bit for bit."""

import subprocess
import sys
from pathlib import Path

import torch
from small import JOB, Small, without_clock

from lnbook.training import Machine, RunFolder, torch_threads, train

HERE = Path(__file__).resolve().parent


def test_killed_at_random_instants_a_run_gives_the_same_bits(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, HERE / "killing.py", tmp_path / "killed", "0"],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no file was ever found damaged
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
    assert not list((tmp_path / "killed").glob("*.damaged"))

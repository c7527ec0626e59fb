"""Two processes that train one model make the updates of one, and one of them writes."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
OPTIONS = ["--scale", "smoke", "--dtype", "float64", "--only", "dropout=0.0", "--only", "seed=0"]
# Float64 rounds at 1e-16; sums in another order differ by that, and forty steps of Adam multiply it, most
# where its denominators are small.
ROUNDING = 1e-10


def rows(out: Path, *launcher: str) -> dict[str, list[float]]:
    """The numbers of each norm, without the clock."""
    command = [sys.executable, *launcher, HERE / "small.py", "--out", out, *OPTIONS]
    done = subprocess.run(
        command,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
        timeout=1500,
    )
    assert done.stdout.count("2 of 6 runs are done") == 1
    assert done.stderr.count("update 7/40") == 2
    found: dict[str, list[float]] = {"layer": [], "batch": []}
    with (out / "small.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["norm"]] += [float(v or 0) for k, v in row.items() if k not in ("norm", "seconds")]
    return found


@pytest.mark.slow
def test_under_torchrun_layer_norm_has_the_rows_of_one_process_and_batch_norm_others(tmp_path):
    one = rows(tmp_path / "one")
    two = rows(tmp_path / "two", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    assert json.loads((tmp_path / "two" / "small.json").read_text())["processes"] == 2
    assert two["layer"] == pytest.approx(one["layer"], rel=0, abs=ROUNDING)
    # statistics of four cases, no longer of eight
    assert max(abs(a - b) for a, b in zip(one["batch"], two["batch"], strict=True)) > 1e-2

"""Several processes that train one model: one update, one output, and an end for all at an error."""

import csv
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import torch
from small import EXPERIMENT, jobs

from lnbook.training import Machine
from lnbook.training.gather import gather
from lnbook.training.runs import run

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
SMALL = ["--scale", "smoke", "--dtype", "float64", "--only", "dropout=0.0"]
# Float64 rounds at 1e-16; sums in another order differ by that, and forty steps of Adam multiply it, most
# where its denominators are small.
ROUNDING = 1e-10
PATIENCE = 1500  # seconds, for what hangs; gloo itself would wait for half an hour


class Done:
    """How processes ended, and what they said together."""

    def __init__(self, processes: Sequence[subprocess.Popen[str]]) -> None:
        said = [process.communicate(timeout=PATIENCE) for process in processes]
        self.out, self.err = ("".join(texts) for texts in zip(*said, strict=True))
        self.statuses = [process.returncode for process in processes]


def start(
    out: Path, *options: str, launcher: Sequence[str] = (), variables: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    command = [sys.executable, *launcher, HERE / "small.py", "--out", out, *SMALL, *options]
    everything = os.environ | {"OMP_NUM_THREADS": "1"} | (variables or {})
    return subprocess.Popen(
        command, env=everything, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def small(out: Path, *options: str, world: int = 1, fault: str = "none 0") -> Done:
    """The small experiment in processes that have the environment of torchrun's, and nobody to end them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world), "FAULT": fault}
    ranks = [{"RANK": str(rank), "LOCAL_RANK": str(rank)} for rank in range(world)]
    alone = ["--processes", "1"] if world == 1 else []
    return Done([start(out, *options, *alone, variables=common | rank) for rank in ranks])


def table(out: Path, norm: str) -> list[dict[str, float]]:
    """The rows of one norm, numbers only, without the clock."""
    with (out / "small.csv").open(newline="") as file:
        found = [row for row in csv.DictReader(file) if row["norm"] == norm]
    return [{k: float(v or "nan") for k, v in row.items() if k not in ("norm", "seconds")} for row in found]


def difference(found: list[dict[str, float]], expected: list[dict[str, float]]) -> float:
    """The largest, where not both lack a number."""
    assert [list(row) for row in found] == [list(row) for row in expected]
    pairs = [(a[k], b[k]) for a, b in zip(found, expected, strict=True) for k in a]
    return max(abs(a - b) for a, b in pairs if a == a or b == b)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The rows of one process."""
    out = tmp_path_factory.mktemp("one")
    chosen = [job for job in jobs("smoke", 0) if job["dropout"] == 0 and job["seed"] == 0]
    outcomes = run(EXPERIMENT, "smoke", jobs=chosen, machine=Machine(dtype=torch.float64), processes=1)
    gather(EXPERIMENT, outcomes, "smoke", out)
    return out


def test_under_torchrun_layer_norm_has_the_rows_of_one_process_and_batch_norm_others(
    one: Path, tmp_path: Path
) -> None:
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = Done([start(tmp_path, launcher=launcher, variables={"FAULT": "nan 9 1 1"})])
    layer, batch = table(tmp_path, "layer"), table(tmp_path, "batch")
    assert len(table(one, "layer")) == 8
    assert difference(layer[:8], table(one, "layer")) < ROUNDING
    assert difference(batch[:8], table(one, "batch")) > 1e-2  # statistics of four cases, no longer of eight
    # a loss that is NaN in one process is an outcome of both, and other runs go on
    assert done.statuses == [1]
    assert done.err.count("The loss became nan at update 9 of norm = layer, dropout = 0.0, seed = 1") == 1
    assert [(row["seed"], row["update"]) for row in layer[8:]] == [(1, 0), (1, 7)]
    assert len(batch) == 8 + 2
    # one process writes: one table, one line a row
    assert done.out.count("2 of 6 runs are done") == 1
    assert done.err.count("update 7/40") == 4
    facts = json.loads((tmp_path / "small.json").read_text())
    assert facts["processes"] == 2


def test_an_error_in_one_process_ends_all_and_any_number_of_processes_goes_on(
    one: Path, tmp_path: Path
) -> None:
    only = ["--only", "norm=layer", "--only", "seed=0", "--every", "0", "--resume"]
    for world, fault, reached in ((2, "raise 17 1", 14), (1, "raise 10 0", 23)):
        broken = small(tmp_path, *only, world=world, fault=fault)
        assert broken.statuses == [1] * world
        assert "the fault that was asked for" in broken.err
        assert broken.err.count("A process that this one works with has ended") == world - 1
        assert not (tmp_path / "small.csv").exists()
        newest = max(tmp_path.glob("small/*/*.checkpoint"))
        assert int(newest.stem) == reached  # a group, whose clocks differ, writes at each row
    done = small(tmp_path, *only, world=2)
    assert done.statuses == [0, 0], done.err
    assert difference(table(tmp_path, "layer"), table(one, "layer")) < ROUNDING

"""Sweeps: the same in parallel and in turn; their processes end together."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from interrupted import UPDATES
from small import JOB, Small, without_clock

from lnbook.training import Machine, RunFolder, sweep, train

HERE = Path(__file__).resolve().parent


def rows(note: str, seed: int, updates: int) -> dict[str, Any]:
    """Rows of a short run, without the clock, and where it ran."""
    task = Small(Machine(), **{**JOB, "seed": seed})
    task.updates = updates
    found = without_clock(train(task).rows)
    return {"rows": found, "note": note, "threads": torch.get_num_threads(), "process": os.getpid()}


def refuse(number: int) -> int:
    if number == 2:
        raise FloatingPointError("number 2")
    return number


def test_a_sweep_gives_the_same_in_parallel_and_in_turn_and_in_the_order_of_the_jobs() -> None:
    before = torch.get_num_threads()
    jobs = [{"seed": seed, "updates": updates} for seed, updates in ((2, 30), (0, 5), (1, 20), (0, 5))]
    alone, together = (sweep(rows, jobs, common=("note",), processes=number) for number in (1, 2))
    assert [found["rows"] for found in alone] == [found["rows"] for found in together]
    assert [found["rows"][-1]["update"] for found in together] == [30, 5, 20, 5]
    assert {(found["threads"], found["note"]) for found in alone + together} == {(1, "note")}
    assert {found["process"] for found in alone} == {os.getpid()}
    assert os.getpid() not in {found["process"] for found in together}
    assert torch.get_num_threads() == before


def test_an_error_in_a_job_reaches_the_caller() -> None:
    with pytest.raises(FloatingPointError, match="number 2"):
        sweep(refuse, [{"number": number} for number in range(4)], processes=2)


def test_a_page_of_a_build_uses_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LNLIB_CORES", "1")
    found = sweep(rows, [{"seed": seed, "updates": 1} for seed in range(2)], common=("note",))
    assert [run["process"] for run in found] == [os.getpid()] * 2


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 1500
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def runs_on(process: int) -> bool:
    """Whether it exists and is no zombie, for which nobody has waited yet."""
    command = ["ps", "-o", "stat=", "-p", str(process)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    return shown.stdout.strip()[:1] not in ("", "Z")


def mind_hangups() -> None:
    """In a child before its program begins: the tests may run under nohup, which is inherited."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "processes"),
    [(signal.SIGINT, 1), (signal.SIGTERM, 2), (signal.SIGHUP, 2), (signal.SIGKILL, 2)],
)
def test_the_processes_of_a_sweep_end_with_it_and_keep_where_they_were_if_they_can(
    tmp_path: Path, number: signal.Signals, processes: int
) -> None:
    command = [sys.executable, HERE / "interrupted.py", tmp_path, str(processes)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=mind_hangups) as parent:
        pids = [tmp_path / str(seed) / "pid" for seed in range(processes)]
        wait_for(lambda: all(path.is_file() and path.read_text() for path in pids))
        parent.send_signal(number)
        _, err = parent.communicate(timeout=1500)
    assert parent.returncode == (-9 if number == signal.SIGKILL else 130)
    wait_for(lambda: not any(runs_on(int(path.read_text())) for path in pids))
    assert sorted(tmp_path.glob("*/pid")) == pids  # no other run has begun
    states = [RunFolder.peek(path.parent) for path in pids]
    if number == signal.SIGKILL:
        assert states == [None] * processes
    else:
        assert err == ""
        assert all(state is not None and 0 < state["update"] < UPDATES for state in states)

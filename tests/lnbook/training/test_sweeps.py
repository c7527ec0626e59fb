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
from small import JOB, Small, mind_hangups, without_clock

from lnbook.training import Machine, ProcessLost, RunFolder, cores, sweep, torch_threads, train

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


def vanish(number: int) -> None:
    os._exit(9)


def test_a_sweep_gives_the_same_in_parallel_and_in_turn_and_in_the_order_of_the_jobs() -> None:
    before = torch.get_num_threads()
    jobs = [{"seed": seed, "updates": updates} for seed, updates in ((2, 30), (0, 5), (1, 20), (0, 5))]
    alone, together = (sweep(rows, jobs, common=("note",), processes=number) for number in (1, 2))
    assert [found["rows"] for found in alone] == [found["rows"] for found in together]
    assert [found["rows"][-1]["update"] for found in together] == [30, 5, 20, 5]
    assert alone[1]["rows"] == alone[3]["rows"]
    assert {found["threads"] for found in alone + together} == {1}
    assert {found["note"] for found in alone + together} == {"note"}
    assert {found["process"] for found in alone} == {os.getpid()}
    assert os.getpid() not in {found["process"] for found in together}
    assert torch.get_num_threads() == before


def test_threads_come_back_after_an_error() -> None:
    before = torch.get_num_threads()
    seen: list[int] = []

    def fail() -> None:
        with torch_threads(before + 1):
            seen.append(torch.get_num_threads())
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert seen == [before + 1]
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("processes", [1, 2])
def test_an_error_in_a_job_reaches_the_caller(processes: int) -> None:
    with pytest.raises(FloatingPointError, match="number 2"):
        sweep(refuse, [{"number": number} for number in range(4)], processes=processes)


def test_a_process_that_vanishes_is_an_error_that_says_so() -> None:
    with pytest.raises(ProcessLost, match="A process of the sweep was killed"):
        sweep(vanish, [{"number": 0}, {"number": 1}], processes=2)


def test_a_sweep_of_nothing_is_nothing() -> None:
    assert sweep(rows, []) == []
    assert cores() >= 1


def test_a_page_of_a_build_uses_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LNLIB_CORES", "1")
    found = sweep(rows, [{"seed": seed, "updates": 1} for seed in range(2)], common=("note",))
    assert [run["process"] for run in found] == [os.getpid()] * 2


def wait_for(condition: Callable[[], bool], seconds: float = 1500) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def runs_on(process: int) -> bool:
    """Whether it exists and is no zombie, for which nobody has waited yet."""
    shown = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True, check=False
    )
    return shown.stdout.strip()[:1] not in ("", "Z")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_the_processes_of_a_sweep_end_with_it_and_keep_where_they_were_if_they_can(
    tmp_path: Path, number: signal.Signals
) -> None:
    command = [sys.executable, HERE / "interrupted.py", tmp_path, "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=mind_hangups) as parent:
        pids = [tmp_path / f"{seed}.pid" for seed in range(2)]
        logs = [tmp_path / str(seed) / "rows.jsonl" for seed in range(2)]
        wait_for(lambda: all(path.is_file() for path in (*pids, *logs)))
        time.sleep(0.3)  # into the updates
        parent.send_signal(number)
        _, err = parent.communicate(timeout=1500)
    assert parent.returncode == (-9 if number == signal.SIGKILL else 130)
    wait_for(lambda: not any(runs_on(int(path.read_text())) for path in pids))
    assert sorted(tmp_path.glob("*.pid")) == pids  # no other run has begun
    if number == signal.SIGKILL:
        assert not list(tmp_path.glob("*/*.checkpoint"))
        return
    assert err == ""
    for seed in range(2):
        with RunFolder(tmp_path / str(seed), {**JOB, "seed": seed}) as folder:
            state = folder.load()
        assert state is not None
        assert 0 < state["update"] < UPDATES

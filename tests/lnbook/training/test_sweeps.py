"""Sweeps: the same in parallel and in turn."""

import os
from typing import Any

import pytest
import torch
from small import JOB, Small, without_clock

from lnbook.training import Machine, sweep, train


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
    with pytest.raises(FloatingPointError, match="number 2"):
        sweep(refuse, [{"number": number} for number in range(4)], processes=2)


def test_a_page_of_a_build_uses_its_share_of_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LNLIB_CORES", "1")
    found = sweep(rows, [{"seed": seed, "updates": 1} for seed in range(2)], common=("note",))
    assert [run["process"] for run in found] == [os.getpid()] * 2

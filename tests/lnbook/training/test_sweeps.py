"""Sweeps: the same in parallel and in turn."""

import os
from typing import Any

import torch

from lnbook.training import sweep


def where(note: str, number: int) -> dict[str, Any]:
    """The arguments, and where it ran."""
    return {"of": (note, number), "threads": torch.get_num_threads(), "process": os.getpid()}


def test_a_sweep_gives_the_same_in_parallel_and_in_turn_and_in_the_order_of_the_jobs(monkeypatch):
    before, jobs = torch.get_num_threads(), [{"number": n} for n in (3, 1, 2, 1)]
    monkeypatch.setenv("LNLIB_CORES", "1")  # what a build says
    alone, together = (sweep(where, jobs, common=("note",), processes=n) for n in (None, 2))
    for found in (alone, together):
        assert [one["of"] for one in found] == [("note", n) for n in (3, 1, 2, 1)]
        assert {one["threads"] for one in found} == {1}
        assert (os.getpid() in {one["process"] for one in found}) == (found is alone)
    assert torch.get_num_threads() == before

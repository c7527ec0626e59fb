"""At a deadline a run stops with a checkpoint, and goes on later unaffected; no test waits."""

from pathlib import Path

import pytest
import torch
from small import EXPERIMENT, JOB, UPDATES, Ticks, jobs, without_clock

from lnbook.training import Machine, RunFolder
from lnbook.training.deadline import Deadline
from lnbook.training.runs import Outcome, Plan, attempt, label, run


def plan(folder: Path, deadline: Deadline | None, every: float = 1e9) -> Plan:
    return Plan(EXPERIMENT, "smoke", Machine(), folder, every, deadline=deadline)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def whole() -> Outcome:
    (found,) = run(EXPERIMENT, "smoke", jobs=[JOB], processes=1, progress=False)
    return found


@pytest.mark.parametrize("update", [1, 13, 28])
def test_a_run_stops_at_the_update_of_the_deadline_and_goes_on_bit_for_bit(
    tmp_path: Path, whole: Outcome, update: int
) -> None:
    # the clock is read once before the run begins, then at each update
    stopped = attempt(plan(tmp_path, Deadline(update + 1.0, Ticks())), job=JOB)
    assert stopped.facts["unfinished"] == f"update {update} of {UPDATES}"
    assert not stopped.failed
    kept = RunFolder.peek(tmp_path / label(JOB))
    assert kept is not None
    assert kept["update"] == update
    assert [r["update"] for r in stopped.rows if not r["selected"]] == list(range(0, update + 1, 7))
    again = attempt(plan(tmp_path, None), job=JOB)
    assert without_clock(again.rows) == without_clock(whole.rows)
    assert "unfinished" not in again.facts


def test_a_run_that_ends_with_its_deadline_is_done(tmp_path: Path, whole: Outcome) -> None:
    done = attempt(plan(tmp_path, Deadline(UPDATES + 1.0, Ticks())), job=JOB)
    assert "unfinished" not in done.facts
    assert without_clock(done.rows) == without_clock(whole.rows)


def test_after_the_deadline_no_run_begins_and_each_says_where_it_is(tmp_path: Path, whole: Outcome) -> None:
    late = plan(tmp_path, Deadline(0.0, Ticks()))
    first, second, _ = jobs("smoke", 0)[:3]
    assert attempt(late, job=first).facts == {"unfinished": "not begun"}
    assert not list(tmp_path.iterdir())
    attempt(plan(tmp_path, Deadline(9.0, Ticks())), job=second)
    assert attempt(late, job=second).facts["unfinished"] == f"update 8 of {UPDATES}"
    attempt(plan(tmp_path, None), job=JOB)
    assert without_clock(attempt(late, job=JOB).rows) == without_clock(whole.rows)


def test_an_interruption_before_the_deadline_goes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAULT", "stop 3")
    with pytest.raises(KeyboardInterrupt, match="stopped after update 3 of 40"):
        attempt(plan(tmp_path, Deadline(1e9, Ticks())), job=JOB)

"""Local processes: started once, asked many times, ended in all cases."""

import multiprocessing
import os
import time

import pytest
import torch
import torch.distributed as dist

from lnbook.pages.beyond_distributed.parallel import Processes, ProcessFailed
from lnbook.training import Group

pytestmark = pytest.mark.slow


def facts(group: Group, offset: int, *, step: int = 1) -> tuple[int, int, int]:
    total = torch.tensor([offset + step * group.rank])
    dist.all_reduce(total)
    return os.getpid(), int(total), torch.get_num_threads()


def fail(group: Group) -> None:
    if group.rank == 1:
        raise ValueError("the second one")
    dist.barrier()


def die(group: Group) -> None:
    if group.rank == 1:
        os._exit(3)
    dist.barrier()


def hang(group: Group) -> None:
    time.sleep(300)


def test_every_process_answers_and_the_same_ones_answer_again() -> None:
    with Processes(2, seconds=1500) as processes:
        first = processes.call(facts, 3, step=2)
        again = processes.call(facts, 10)
    assert [total for _, total, _ in first] == [8, 8]
    assert [total for _, total, _ in again] == [21, 21]
    assert [pid for pid, *_ in first] == [pid for pid, *_ in again]
    assert len({os.getpid(), *(pid for pid, *_ in first)}) == 3
    assert {threads for *_, threads in first} == {1}


@pytest.mark.parametrize(("function", "message"), [(fail, "the second one"), (die, "Process 1 died")])
def test_a_process_that_fails_ends_all_at_once_and_says_why(function, message) -> None:
    processes = Processes(2, seconds=7200)  # who waited for this would meet pytest's timeout first
    with pytest.raises(ProcessFailed, match=message):
        processes.call(function)
    assert not multiprocessing.active_children()
    with pytest.raises(ProcessFailed, match="start new ones"):
        processes.call(getattr, "rank")


def test_a_call_that_takes_too_long_is_ended() -> None:
    processes = Processes(2, seconds=1500)
    processes.seconds = 1.0
    with pytest.raises(ProcessFailed, match=r"Processes \[0, 1\] did not answer in 1 seconds"):
        processes.call(hang)
    assert not multiprocessing.active_children()


def test_two_groups_live_side_by_side_and_end_when_closed_or_when_nobody_holds_them(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    one, other = Processes(1, seconds=1500), Processes(1, seconds=1500)
    assert one.call(getattr, "world") == other.call(getattr, "world") == [1]
    assert len(list(tmp_path.iterdir())) == len(multiprocessing.active_children()) == 2
    one.close()
    one.close()
    assert len(list(tmp_path.iterdir())) == len(multiprocessing.active_children()) == 1
    del other
    assert not list(tmp_path.iterdir())
    assert not multiprocessing.active_children()


def test_there_is_at_least_one() -> None:
    with pytest.raises(ValueError, match="at least one"):
        Processes(0)

"""Local processes: started once, asked many times, ended in all cases."""

import multiprocessing
import os
import time
from contextlib import closing

import pytest
import torch
import torch.distributed as dist

from lnbook.pages.beyond_distributed.parallel import Processes, ProcessFailed
from lnbook.training import Group

pytestmark = pytest.mark.slow


def facts(group: Group, offset: int, *, step: int = 1) -> tuple[int, int]:
    total = torch.tensor([offset + step * group.rank])
    dist.all_reduce(total)
    return os.getpid(), int(total)


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
    with closing(Processes(2, seconds=1500)) as processes:
        first = processes.call(facts, 3, step=2)
        again = processes.call(facts, 10)
    assert [total for _, total in (*first, *again)] == [8, 8, 21, 21]
    assert [pid for pid, _ in first] == [pid for pid, _ in again]
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("function", "seconds", "message"),
    [
        (fail, 7200, "the second one"),  # who waited for this would meet pytest's timeout first
        (die, 7200, "Process 1 died"),
        (hang, 1, r"Processes \[0, 1\] did not answer in 1 seconds"),
    ],
)
def test_a_process_that_fails_ends_all_at_once_and_says_why(function, seconds, message) -> None:
    processes = Processes(2, seconds=7200)
    processes.seconds = seconds
    with pytest.raises(ProcessFailed, match=message):
        processes.call(function)
    assert not multiprocessing.active_children()
    with pytest.raises(ProcessFailed, match="start new ones"):
        processes.call(getattr, "rank")

"""Local processes: started once, asked many times, ended in all cases."""

import multiprocessing
import os
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing

import pytest
import torch
import torch.distributed as dist

from lnbook.pages.beyond_distributed.parallel import Processes
from lnbook.training import Group

pytestmark = pytest.mark.slow


def facts(group: Group, offset: int, *, step: int = 1) -> tuple[int, int]:
    total = torch.tensor([offset + step * group.rank])
    dist.all_reduce(total)
    return os.getpid(), int(total)


def fail(group: Group) -> None:
    if group.rank == 1:
        raise ValueError("the second one")


def die(group: Group) -> None:
    if group.rank == 1:
        os._exit(3)
    dist.barrier()


def test_every_process_answers_and_the_same_ones_again_until_one_dies() -> None:
    with closing(Processes(2)) as processes:
        first = processes.call(facts, 3, step=2)
        with pytest.raises(ValueError, match="the second one"):
            processes.call(fail)
        again = processes.call(facts, 10)
        with pytest.raises(BrokenProcessPool):
            processes.call(die)
    assert [total for _, total in (*first, *again)] == [8, 8, 21, 21]
    assert [pid for pid, _ in first] == [pid for pid, _ in again]
    assert not multiprocessing.active_children()

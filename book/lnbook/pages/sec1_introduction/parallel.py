"""Several processes on this machine that can talk by `torch.distributed`: started once, asked many times."""

import os
import socket
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ProcessPoolExecutor, wait
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.distributed as dist

from lnbook.training.distributed import Group


class Processes:
    """`world` processes, one torch thread each, in one gloo group over the loopback interface.

    They meet at a file of their own, so no port can be taken twice. One that waits for another for more than
    two minutes raises.
    """

    def __init__(self, world: int) -> None:
        self.world, self._folder = world, TemporaryDirectory(prefix="lnlib-group-")
        context = get_context("spawn")
        ranks = context.SimpleQueue()
        for rank in range(world):
            ranks.put(rank)
        meeting = (Path(self._folder.name) / "meet").as_uri()
        self._pool = ProcessPoolExecutor(world, context, _join, (world, meeting, ranks))

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> list[Any]:
        """`function(group, *arguments, **named)` in every process; the answers in the order of the ranks."""
        asked = [self._pool.submit(_answer, function, arguments, named) for _ in range(self.world)]
        done, _ = wait(asked, return_when=FIRST_EXCEPTION)
        answers = dict(future.result() for future in done)
        return [answers[rank] for rank in range(self.world)]

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown()
        self._folder.cleanup()


def _join(world: int, meeting: str, ranks: Any) -> None:
    """What a process does first: join the group."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # gloo greets on stdout
    os.environ.setdefault("GLOO_SOCKET_IFNAME", next(n for _, n in socket.if_nameindex() if n[:2] == "lo"))
    torch.set_num_threads(1)
    patience = timedelta(minutes=2)
    dist.init_process_group("gloo", meeting, patience, world_size=world, rank=ranks.get())


def _answer(
    function: Callable[..., Any], arguments: Sequence[Any], named: Mapping[str, Any]
) -> tuple[int, Any]:
    """The rank of this process, and what the function returns in it."""
    dist.barrier()  # who waits here takes no second call
    group = Group(dist.get_rank(), dist.get_world_size())
    return group.rank, function(group, *arguments, **named)

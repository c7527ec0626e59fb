"""Several processes on this machine that can talk by `torch.distributed`: started once, asked many times."""

import multiprocessing
import os
import shutil
import socket
import tempfile
import traceback
import weakref
from collections.abc import Callable, Sequence
from datetime import timedelta
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NoReturn

import torch
import torch.distributed as dist

from lnbook.training.distributed import Group


class ProcessFailed(RuntimeError):
    """A process raised, died, or did not answer in time. All of them were ended."""


class Processes:
    """`world` processes, one torch thread each, in one gloo group over the loopback interface.

    They meet at a file of their own, so no port can be taken twice. They end with `close`, with a failure,
    or, whatever happens here, when this process does. A call that takes longer than `seconds` is a failure.
    """

    def __init__(self, world: int, seconds: float = 120.0) -> None:
        self.seconds = seconds
        folder = Path(tempfile.mkdtemp(prefix="lnlib-group-"))
        context = multiprocessing.get_context("spawn")
        pairs = [context.Pipe() for _ in range(world)]
        self._pipes = [ours for ours, _ in pairs]
        self._processes = [
            context.Process(
                target=_serve, args=(Group(rank, world), folder / "meet", seconds, theirs), daemon=True
            )
            for rank, (_, theirs) in enumerate(pairs)
        ]
        self._end = weakref.finalize(self, _end, self._pipes, self._processes, folder)
        for process, (_, theirs) in zip(self._processes, pairs, strict=True):
            process.start()
            theirs.close()  # so that a process that dies is an end of file here
        self._answers()

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> list[Any]:
        """`function(group, *arguments, **named)` in every process; the answers in the order of the ranks.

        The function is importable by name; arguments and answers are NumPy arrays rather than tensors.
        """
        if not self._end.alive:
            raise ProcessFailed("These processes have ended; start new ones.")
        for pipe in self._pipes:
            pipe.send((function, arguments, named))
        return self._answers()

    def close(self) -> None:
        """End the processes; once is enough."""
        self._end()

    def _answers(self) -> list[Any]:
        answers: dict[int, Any] = {}
        while missing := [rank for rank in range(len(self._pipes)) if rank not in answers]:
            ready = wait([self._pipes[rank] for rank in missing], self.seconds)
            if not ready:
                self._fail(f"Processes {missing} did not answer in {self.seconds:g} seconds.")
            for rank in missing:
                if self._pipes[rank] in ready:
                    answers[rank] = self._answer(rank)
        return [answers[rank] for rank in range(len(self._pipes))]

    def _answer(self, rank: int) -> Any:
        try:
            fine, answer = self._pipes[rank].recv()
        except EOFError:
            self._fail(f"Process {rank} died.")
        if not fine:
            self._fail(f"Process {rank} failed:\n{answer}")
        return answer

    def _fail(self, why: str) -> NoReturn:
        for process in self._processes:  # the others may be waiting for one that will not come
            process.kill()
        self.close()
        raise ProcessFailed(why)


def _end(pipes: Sequence[Connection], processes: Sequence[Any], folder: Path) -> None:
    for pipe in pipes:
        pipe.close()  # an idle process ends by itself
    for process in processes:
        if process.pid is None:
            continue
        process.join(5.0 if process.exitcode is None else 0.0)
        if process.exitcode is None:
            process.kill()
            process.join()
    shutil.rmtree(folder, ignore_errors=True)


def _serve(group: Group, meeting: Path, seconds: float, pipe: Connection) -> None:
    """One process: join the group, then answer calls until the pipe is closed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # gloo greets on stdout
    os.environ.setdefault("GLOO_SOCKET_IFNAME", next(n for _, n in socket.if_nameindex() if n[:2] == "lo"))
    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            "gloo",
            init_method=meeting.as_uri(),
            rank=group.rank,
            world_size=group.world,
            timeout=timedelta(seconds=seconds),
        )
        pipe.send((True, None))
        while True:
            function, arguments, named = pipe.recv()
            try:
                answer = True, function(group, *arguments, **named)
            except Exception:
                answer = False, traceback.format_exc()
            pipe.send(answer)
    except (EOFError, BrokenPipeError):
        pass
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()

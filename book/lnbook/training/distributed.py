"""Several processes that train one model: `torchrun` starts them, each takes its share of every batch.

A batch is parted evenly and gradients are averaged, so that without batch statistics the update is that of
one process with the whole batch, up to rounding.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lnbook.training.errors import ProcessLost

__all__ = ["ALONE", "Group", "join"]


@dataclass(frozen=True)
class Group:
    """This process among those that train together: `rank` of `world`, `local_rank` on its machine.

    >>> ALONE.first, ALONE.share("what the first process says"), float(ALONE.sum(torch.tensor(2.0)))
    (True, 'what the first process says', 2.0)
    """

    rank: int = 0
    world: int = 1
    local_rank: int = 0

    @property
    def first(self) -> bool:
        """Whether this process reads and writes files."""
        return self.rank == 0

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model, its gradients averaged over all processes at each backward pass."""
        if self.world == 1:
            return model
        return nn.parallel.DistributedDataParallel(model)

    def sum(self, x: Tensor) -> Tensor:
        """The sum of all processes' tensors, in each."""
        if self.world > 1:
            x = x.clone()
            dist.all_reduce(x)
        return x

    def share(self, content: Any) -> Any:
        """What the first process has, in each; of the others' `content` nothing is left."""
        if self.world == 1:
            return content
        box = [content]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def agree(self, model: nn.Module) -> None:
        """Give all processes the first one's buffers: running averages differ by what each has seen."""
        if self.world > 1:
            for buffer in model.buffers():
                dist.broadcast(buffer, 0)

    def wait(self) -> None:
        """Wait for all processes."""
        if self.world > 1:
            dist.barrier()


ALONE = Group()


@contextmanager
def join(device: torch.device) -> Iterator[Group]:
    """The group that `torchrun` describes in the environment; without it, this process alone.

    Collectives run on nccl for CUDA and on gloo for the CPU.

    Raises:
        ProcessLost: a collective failed, as it does when another process has ended with an error. That
            one says why; `torchrun` ends the others.
    """
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        yield ALONE
        return
    local_rank = int(os.environ["LOCAL_RANK"])
    if device.type == "cuda":
        torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield Group(dist.get_rank(), world, local_rank)
    except RuntimeError as error:
        if isinstance(error, dist.DistError) or "gloo" in str(error).lower():
            raise ProcessLost(f"A process that this one works with has ended ({error}).") from error
        raise
    dist.destroy_process_group()  # not after an error: it would wait for processes that do not come

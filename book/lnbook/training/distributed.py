"""Several processes that train one model: `torchrun` starts them, each takes its share of every batch."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True)
class Group:
    """This process among those that train together: `rank` of `world`; the first reads and writes files."""

    rank: int = 0
    world: int = 1

    def wrap(self, model: nn.Module) -> nn.Module:
        """The model, its gradients averaged over all processes at each backward pass."""
        return model if self.world == 1 else nn.parallel.DistributedDataParallel(model)

    def sum(self, x: Tensor) -> Tensor:
        if self.world > 1:
            dist.all_reduce(x := x.clone())
        return x

    def share(self, content: Any) -> Any:
        """What the first process has, in each; of the others' `content` nothing is left."""
        box = [content]
        if self.world > 1:
            dist.broadcast_object_list(box, src=0)
        return box[0]

    def wait(self) -> None:
        if self.world > 1:
            dist.barrier()


ALONE = Group()


@contextmanager
def join(device: torch.device) -> Iterator[Group]:
    """The group that `torchrun` describes in the environment; without it, this process alone."""
    if os.environ.get("WORLD_SIZE", "1") == "1":
        yield ALONE
        return
    if device.type == "cuda":
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))  # what "cuda" without a number means from now on
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    yield Group(dist.get_rank(), dist.get_world_size())
    dist.destroy_process_group()  # not after an error: it would wait for processes that do not come

"""An update as one CUDA graph, for runs side by side on a GPU.

An update of these experiments is dozens to thousands of small products and sums, and a GPU would only wait
for Python. So each run has a stream of its own and replays its update, once captured, for every batch: the
arithmetic is that of `lnbook.training.loop.step`, and the GPU computes several runs at a time.
"""

import threading

import torch
from torch import Tensor, nn

from lnbook.training.loop import step
from lnbook.training.task import Cases, Task

WARM = 3  # updates before the capture, in which libraries choose their kernels
ALONE = threading.Lock()  # nobody else differentiates or asks for memory meanwhile


class Graph:
    """The update of one run, as `lnbook.training.train` takes it, in a thread with a stream of its own."""

    def __init__(self) -> None:
        self.warm, self.graph = 0, torch.cuda.CUDAGraph()
        self.given: Cases = ()
        self.loss: Tensor

    def __call__(self, task: Task, model: nn.Module, cases: Cases, noise: torch.Generator) -> Tensor:
        drawn = task.drawn(cases, noise)
        if not self.given:
            with ALONE:
                for group in task.optimizer.param_groups:
                    group["capturable"] = True
                if self.warm < WARM:
                    self.warm += 1
                    loss = step(task, model, drawn, noise)
                    torch.cuda.current_stream().synchronize()
                    return loss
                self.given = tuple(torch.empty_like(x) for x in drawn)
                stream = torch.cuda.current_stream()
                with torch.cuda.graph(self.graph, stream=stream, capture_error_mode="thread_local"):
                    self.loss = step(task, model, self.given, noise)
        for place, x in zip(self.given, drawn, strict=True):
            place.copy_(x, non_blocking=True)
        self.graph.replay()
        return self.loss.clone()

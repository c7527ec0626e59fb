"""Batch normalization over the batches of several processes, as if they were one batch in one process.

Cases are split among the processes. Each sends the number, mean and squared deviations of its own, and all
combine them; in the backward pass each sends two sums. Both are collectives that every process must take part
in, at every layer, one after the other.

`torch.nn.SyncBatchNorm` does this for CUDA; here it runs wherever `torch.distributed` does, gloo on a CPU
included. The parts combine as in Chan, Golub, LeVeque (1983), so that large means cost no accuracy.
"""

from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from lnlib.norms.modules import BatchNorm


class SyncBatchNorm(BatchNorm):
    """Eq. (2) over the batches of all processes, in which running statistics are the same.

    Gradients of `weight` and `bias` are those of this process's own cases, which
    `torch.nn.parallel.DistributedDataParallel` averages with all others.
    """

    @classmethod
    def convert(cls, model: nn.Module) -> nn.Module:
        """The model with every batch norm inside synchronized; it keeps its parameters and statistics."""
        if isinstance(model, BatchNorm):
            new = cls(model.num_features, model.eps, device="meta")
            new._parameters, new._buffers = model._parameters, model._buffers
            return new
        for name, child in model.named_children():
            setattr(model, name, cls.convert(child))
        return model

    def forward(self, a: Float[Tensor, "N H"]) -> Float[Tensor, "N H"]:
        if not self.training:
            return super().forward(a)
        out, mean, var, cases = _Together.apply(a, self.eps)
        assert self.momentum is not None  # no cumulative averages here
        with torch.no_grad():
            for name, now in (("running_mean", mean), ("running_var", var * cases / (cases - 1))):
                running = self.get_buffer(name)
                running.lerp_(now.to(running.dtype), self.momentum)
        return out * self.weight + self.bias


def standardize_together(a: Float[Tensor, "N H"], eps: float = 1e-5) -> Float[Tensor, "N H"]:
    r"""Standardize axis 1 over the cases of all processes, $(a_i - \mu_i)/\sqrt{\sigma_i^2+\epsilon}$.

    The gradient is that of the *sum* of all processes' losses. A collective of 2H + 1 numbers forward and one
    of 2H backward; every process takes part.
    """
    return _Together.apply(a, eps)[0]


class _Together(torch.autograd.Function):
    """(standardized, mean, variance, number of all cases); only the first has a gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        cases, mean, squares = _gather(x.double())
        var = squares / cases
        std = (var + eps).sqrt()
        out = ((x - mean) / std).to(x.dtype)
        ctx.save_for_backward(out, std.to(x.dtype), cases.to(x.dtype))
        ctx.mark_non_differentiable(mean, var, cases)
        return out, mean, var, cases

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d: Tensor, *_: Tensor | None) -> tuple[Tensor | None, ...]:
        out, std, cases = ctx.saved_tensors  # (d - mean(d) - out mean(out d)) / std, over all processes
        sums = torch.stack([d.sum(0), (d * out).sum(0)])
        dist.all_reduce(sums)
        plain, along = sums / cases
        return (d - plain - out * along) / std, None


def _gather(x: Float[Tensor, "N H"]) -> tuple[Tensor, Tensor, Tensor]:
    """The number, mean and squared deviations of all processes' cases, bit for bit the same in each."""
    mean = x.mean(0)
    mine = torch.cat([mean.new_tensor([len(x)]), mean, (x - mean).square().sum(0)])
    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, mine)
    counts, means, squares = torch.stack(parts).split([1, len(mean), len(mean)], 1)
    n = counts.sum()
    middle = (counts * means).sum(0) / n
    return n, middle, (squares + counts * (means - middle).square()).sum(0)

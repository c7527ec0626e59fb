r"""Batch normalization over the batches of several processes, as if they were one batch in one process.

Cases are parted among P processes. Each sends the number, mean and squared deviations of its own, and all
combine them; in the backward pass each sends two sums. Both are collectives that every process must take part
in, at every layer, one after the other.

`torch.nn.SyncBatchNorm` does this for CUDA; here it runs wherever `torch.distributed` does, gloo on a CPU
included. The parts combine as in Chan, Golub, LeVeque (1983), so that large means cost no accuracy.
"""

import math
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from lnlib.norms.checks import check_built_for
from lnlib.norms.modules import BatchNorm
from lnlib.norms.standardize import affine, inner_mean, widen


class SyncBatchNorm(BatchNorm):
    r"""Batch normalization by the cases of all processes: :class:`lnlib.norms.modules.BatchNorm`, in step.

    $\bar a_i = g_i\,(a_i - \mu_i)/\sqrt{\sigma_i^2 + \epsilon} + b_i$ with $\mu_i$, $\sigma_i$ over the
    batches of all processes. Running statistics are the same in all of them. In evaluation, in one process,
    or without a process group it is :class:`lnlib.norms.modules.BatchNorm`.

    Gradients of `weight` and `bias` are those of this process's own cases, which
    `torch.nn.parallel.DistributedDataParallel` averages with all others.

    *Source* Eq. (2), the batch parted as `torch.nn.SyncBatchNorm` has it.
    """

    @classmethod
    def convert(cls, model: nn.Module) -> nn.Module:
        """The model with every batch norm inside synchronized; it keeps its parameters and statistics."""
        if isinstance(model, nn.modules.batchnorm._BatchNorm) and not isinstance(model, cls):
            options = model.eps, model.momentum, model.affine, model.track_running_stats
            new = cls(model.num_features, *options, device="meta")
            new._parameters, new._buffers = model._parameters, model._buffers
            return new.train(model.training)
        for name, child in model.named_children():
            setattr(model, name, cls.convert(child))
        return model

    def forward(self, a: Float[Tensor, "N H *space"]) -> Float[Tensor, "N H *space"]:
        shared = dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1
        if not (self.training and shared):
            return super().forward(a)
        check_built_for("SyncBatchNorm", a, self.num_features)
        out, mean, var, cases = _Together.apply(widen(a), self.eps)
        self._follow(mean, var, cases)
        weight, bias = (None if p is None else widen(p) for p in (self.weight, self.bias))
        return affine(out, weight, bias, 1).to(a.dtype)

    @torch.no_grad()
    def _follow(self, mean: Tensor, var: Tensor, cases: Tensor) -> None:
        """Move the running statistics towards those of all cases; the variance becomes an unbiased one."""
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked.add_(1)
        step = 1 / int(self.num_batches_tracked) if self.momentum is None else self.momentum
        n = int(cases)
        unbiased = var * (n / (n - 1))
        self.running_mean.add_(step * (mean.to(self.running_mean.dtype) - self.running_mean))
        self.running_var.add_(step * (unbiased.to(self.running_var.dtype) - self.running_var))


def standardize_together(a: Float[Tensor, "N H *space"], eps: float = 1e-5) -> Float[Tensor, "N H *space"]:
    r"""Standardize axis 1 over the cases of all processes, $(a_i - \mu_i)/\sqrt{\sigma_i^2+\epsilon}$.

    The gradient is that of the *sum* of all processes' losses. A collective of 2H + 1 numbers forward and one
    of 2H backward; every process takes part, also one without cases.

    *Source* Eq. (2); the backward pass is its derivative,
    $\frac{1}{\sigma_i}\left(d_i - \frac1n\sum d_i - \frac{\hat a_i}{n}\sum d_i \hat a_i\right)$,
    its sums over all processes.
    """
    return _Together.apply(widen(a), eps)[0].to(a.dtype)


class _Together(torch.autograd.Function):
    """(standardized, mean, variance, number of all cases); only the first has a gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        others = [axis for axis in range(x.ndim) if axis != 1]
        cases, mean, squares = _gather(*_moments(x, others))
        var = squares / cases.clamp(min=1)
        shape = (1, -1, *[1] * (x.ndim - 2))
        # the mean as a sum of two numbers of x's type: x - near is exact where x is close to it
        near = mean.to(x.dtype)
        d = (x - near.view(shape)) - (mean - near).to(x.dtype).view(shape)
        std = (var + eps).sqrt().to(x.dtype)
        std = std.masked_fill(std == math.inf, math.nan)  # beyond the range: unknown, and no reason for zeros
        rstd = 1 / std
        equal = (d == 0) & (std == 0).view(shape)  # 0 / 0 is 0 by definition
        out = (d / std.view(shape)).masked_fill(equal, 0.0)
        ctx.save_for_backward(out, rstd, cases)
        ctx.others, ctx.shape = others, shape
        ctx.mark_non_differentiable(mean, var, cases)
        return out, mean, var, cases

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d: Tensor, *_: Tensor | None) -> tuple[Tensor | None, ...]:
        out, rstd, cases = ctx.saved_tensors
        sums = torch.stack([d.sum(ctx.others), (d * out).sum(ctx.others)])
        dist.all_reduce(sums)
        plain, along = (s.view(ctx.shape) for s in sums)
        d = d - plain / cases.to(d.dtype) - out * (along / cases.to(d.dtype))
        rstd = rstd.masked_fill(rstd == math.inf, 0.0)  # equal values pass no gradient, by definition
        return d * rstd.view(ctx.shape), None


def _moments(x: Tensor, others: list[int]) -> tuple[int, Tensor, Tensor]:
    """Number of cases, mean and sum of squared deviations of each unit, in float64."""
    cases = x.numel() // max(1, x.shape[1])
    if cases == 0:
        zero = x.new_zeros(x.shape[1], dtype=torch.float64)
        return 0, zero, zero
    inner = inner_mean(x, others)
    d = (x - inner).double()
    rest = d.mean(others, keepdim=True)
    return cases, (inner.double() + rest).flatten(), (d - rest).square().sum(others)


def _gather(cases: int, mean: Tensor, squares: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The moments of all processes' cases from those of each; bit for bit the same in every process."""
    mine = torch.cat([mean.new_tensor([cases]), mean, squares])
    parts = [torch.empty_like(mine) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, mine)
    counts, means, deviations = torch.stack(parts).split([1, len(mean), len(mean)], 1)
    n = counts.sum()
    start = means[(counts > 0).int().argmax()]  # equal means come out exactly
    middle = start + (counts * (means - start)).sum(0) / n.clamp(min=1)
    return n, middle, (deviations + counts * (means - middle).square()).sum(0)

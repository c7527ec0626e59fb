r"""The norms as layers with parameters, computed by the functions of the same names.

Constructor, parameters, `state_dict` and `repr` are those of `torch.nn`, so that one replaces the other in
both directions; only the arithmetic differs, which holds for any mean. The gain of Eq. (5) is called
`weight`, as `torch` does.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.linear import linear
from lnlib.norms.batch import batch_moments, batch_norm, batch_norm_by
from lnlib.norms.checks import check_built_for
from lnlib.norms.normalize import group_norm, instance_norm, layer_norm, rms_norm, weight_norm
from lnlib.norms.standardize import EPS

__all__ = ["BatchNorm", "GroupNorm", "InstanceNorm", "LayerNorm", "RMSNorm", "WeightNormLinear"]


class BatchNorm(nn.BatchNorm1d):
    r"""Batch normalization with running statistics: :class:`torch.nn.BatchNorm1d`, `2d` and `3d` in one.

    Training normalizes by the batch and moves the running statistics towards it,
    $\hat\mu \leftarrow (1 - m)\,\hat\mu + m\,\mu$ and the same for the unbiased variance; evaluation
    normalizes by the running statistics, $g_i\,(a_i - \hat\mu_i)/\sqrt{\hat\sigma_i^2 + \epsilon} + b_i$.

    *Source* Eq. (2), its expectation over the data estimated as Ioffe and Szegedy (2015) do.

    Arguments are `torch`'s (`momentum` is m; None averages all batches equally), and

    Args:
        unbiased: normalize by the unbiased variance too. `torch` has the biased one there, also in what
            `torch.nn.SyncBatchNorm.convert_sync_batchnorm` makes of this layer.

    >>> bn = BatchNorm(1, eps=0.0)
    >>> bn(torch.tensor([[1.0], [3.0]])).detach().flatten()
    tensor([-1.,  1.])
    >>> bn.running_mean, bn.running_var
    (tensor([0.2000]), tensor([1.1000]))
    """

    def __init__(
        self,
        num_features: int,
        eps: float = EPS,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
        unbiased: bool = False,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        if not bias:  # not every torch takes it
            self.register_parameter("bias", None)
        self.unbiased = unbiased

    def forward(self, a: Float[Tensor, "N H *space"]) -> Float[Tensor, "N H *space"]:
        check_built_for(type(self).__name__, a, [self.num_features], [1])
        mean, var = self.running_mean, self.running_var
        if mean is not None and var is not None and not self.training:
            return batch_norm_by(a, mean, var, self.weight, self.bias, self.eps)
        out = batch_norm(a, self.weight, self.bias, self.eps, self.unbiased)
        if mean is not None and var is not None and self.track_running_stats:
            self._track(a, mean, var)
        return out

    def extra_repr(self) -> str:
        return super().extra_repr() + (", unbiased=True" if self.unbiased else "")

    @torch.no_grad()
    def _track(self, a: Tensor, mean: Tensor, var: Tensor) -> None:
        """Move the running statistics towards those of the batch; no cases leave them alone."""
        cases = a.numel() // a.shape[1]
        if cases == 1:
            raise ValueError(
                f"BatchNorm: the running variance is an unbiased one, which needs 2 cases, and shape "
                f"{tuple(a.shape)} has 1; give more cases, use evaluation mode, or set "
                f"track_running_stats=False"
            )
        if cases > 1:
            assert self.num_batches_tracked is not None  # it comes with the statistics
            self.num_batches_tracked.add_(1)
            batch_mean, batch_var = batch_moments(a)
            # a count that stays where it is: to read it would wait for a GPU
            step = 1 / self.num_batches_tracked.to(mean.dtype) if self.momentum is None else self.momentum
            mean.add_(step * (batch_mean.to(mean.dtype) - mean))
            var.add_(step * (batch_var.to(var.dtype) - var))


class LayerNorm(nn.LayerNorm):
    r"""Layer normalization: :class:`torch.nn.LayerNorm`, computed by :func:`lnlib.layer_norm`.

    $\bar a_i = g_i\,(a_i - \mu)/\sqrt{\sigma^2 + \epsilon} + b_i$ over the last axes of the input.

    *Source* Eqs. (3) and (5); gain 1 and bias 0 at the start, which the supplement swaps.

    Arguments are `torch`'s, and

    Args:
        dim: the axes of the units, in the order of their lengths; the last ones where left out. In pictures
            of shape (N, C, H, W), `LayerNorm(C, dim=1)` normalizes each place over its channels.

    Raises:
        TypeError: the input is not a floating point tensor.
        ValueError: its axes do not have the lengths `normalized_shape`.

    >>> LayerNorm(3)
    LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=True)
    >>> LayerNorm(3, eps=0.0)(torch.tensor([1.0, 2.0, 3.0])).detach()
    tensor([-1.2247,  0.0000,  1.2247])
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = EPS,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        dim: int | Sequence[int] | None = None,
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, bias, device, dtype)
        last = range(-len(self.normalized_shape), 0)
        self.dim = tuple(last if dim is None else dim if isinstance(dim, Sequence) else [dim])

    def forward(self, a: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        check_built_for(type(self).__name__, a, self.normalized_shape, self.dim)
        return layer_norm(a, self.weight, self.bias, self.eps, self.dim)


class WeightNormLinear(nn.Module):
    r"""A linear layer whose weight rows are given as lengths and directions.

    $a_i = \frac{g_i}{\lVert v_i \rVert_2}\, v_i^\top x + b_i$ with :func:`lnlib.weight_norm`.

    *Source* Section 5.1, after Salimans and Kingma (2016). Arguments are those of :class:`torch.nn.Linear`.
    `weight_g` and `weight_v` are `torch`'s names: its state dicts load here, those of
    :func:`torch.nn.utils.parametrizations.weight_norm` too, and ours there.

    Raises:
        TypeError: the input is not a tensor.
        ValueError: its last axis does not have the D inputs.

    >>> layer = WeightNormLinear(2, 1, bias=False)
    >>> state = {"weight_g": torch.tensor([[10.0]]), "weight_v": torch.tensor([[3.0, 4.0]])}
    >>> _ = layer.load_state_dict(state)
    >>> layer.weight.detach(), layer(torch.tensor([1.0, 1.0])).detach()
    (tensor([[6., 8.]]), tensor([14.]))
    """

    bias: nn.Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight_g = nn.Parameter(torch.empty(out_features, 1, device=device, dtype=dtype))
        self.weight_v = nn.Parameter(torch.empty(out_features, in_features, device=device, dtype=dtype))
        values = nn.Parameter(torch.empty(out_features, device=device, dtype=dtype)) if bias else None
        self.register_parameter("bias", values)
        self.reset_parameters()
        self.register_load_state_dict_pre_hook(_rename_parametrization)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw weight and bias as :class:`torch.nn.Linear` does."""
        like = {"device": self.weight_v.device, "dtype": self.weight_v.dtype}
        plain = nn.Linear(self.in_features, self.out_features, self.bias is not None, **like)
        self.weight_v.copy_(plain.weight)
        self.weight_g.copy_(torch.linalg.vector_norm(self.weight_v, dim=1, keepdim=True))
        if self.bias is not None:
            self.bias.copy_(plain.bias)

    @property
    def weight(self) -> Float[Tensor, "H D"]:
        """The weight matrix that the lengths and directions make."""
        return weight_norm(self.weight_v, self.weight_g.flatten())

    def forward(self, x: Float[Tensor, "*N D"]) -> Float[Tensor, "*N H"]:
        check_built_for(type(self).__name__, x, [self.in_features], [-1])
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class RMSNorm(nn.RMSNorm):
    r"""Root-mean-square normalization: :class:`torch.nn.RMSNorm`, computed by :func:`lnlib.rms_norm`.

    $\bar a_i = g_i\,a_i/\sqrt{\frac1H\sum_j a_j^2 + \epsilon}$ over the last axes of the input.

    *Source* Zhang and Sennrich (2019).

    Arguments are `torch`'s; an `eps` of None, the default, is the rounding unit of the computation.

    Raises:
        TypeError: the input is not a floating point tensor.
        ValueError: the input does not end in `normalized_shape`.

    >>> RMSNorm(2, eps=0.0)(torch.tensor([1.0, 7.0])).detach()
    tensor([0.2000, 1.4000])
    """

    def forward(self, a: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        axes = len(self.normalized_shape)
        check_built_for(type(self).__name__, a, self.normalized_shape, range(-axes, 0))
        gain = None if self.weight is None else self.weight.flatten()
        eps = torch.finfo(torch.promote_types(a.dtype, torch.float32)).eps if self.eps is None else self.eps
        return rms_norm(a.flatten(-axes), gain, eps).reshape(a.shape)


class GroupNorm(nn.GroupNorm):
    r"""Group normalization: :class:`torch.nn.GroupNorm`, computed by :func:`lnlib.group_norm`.

    $\bar a_c = g_c\,(a_c - \mu_k)/\sqrt{\sigma_k^2 + \epsilon} + b_c$ for channel c in group k.

    *Source* Wu and He (2018). Arguments are `torch`'s.

    >>> GroupNorm(2, 4, eps=0.0)(torch.tensor([[1.0, 3.0, 10.0, 30.0]])).detach()
    tensor([[-1.,  1., -1.,  1.]])
    """

    def forward(self, a: Float[Tensor, "N C *space"]) -> Float[Tensor, "N C *space"]:
        check_built_for(type(self).__name__, a, [self.num_channels], [1])
        return group_norm(a, self.num_groups, self.weight, self.bias, self.eps)


class InstanceNorm(nn.InstanceNorm1d):
    r"""Instance normalization: :class:`torch.nn.InstanceNorm1d`, `2d` and `3d` in one.

    $\bar a_c = g_c\,(a_c - \mu_c)/\sqrt{\sigma_c^2 + \epsilon} + b_c$ over space, without
    running statistics. `torch` has their momentum where `affine` would stand, so `affine` goes by name.

    *Source* Ulyanov, Vedaldi, Lempitsky (2016).

    >>> InstanceNorm(1, eps=0.0)(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.,  1.]]])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = EPS,
        *,
        affine: bool = False,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(num_features, eps, affine=affine, device=device, dtype=dtype)
        if not bias:  # not every torch takes it
            self.register_parameter("bias", None)

    def forward(self, a: Float[Tensor, "N C *space"]) -> Float[Tensor, "N C *space"]:
        check_built_for(type(self).__name__, a, [self.num_features], [1])
        return instance_norm(a, self.weight, self.bias, self.eps)


def _rename_parametrization(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    """Read the names that torch.nn.utils.parametrizations.weight_norm writes."""
    for index, name in enumerate(("weight_g", "weight_v")):
        key = f"{prefix}parametrizations.weight.original{index}"
        if key in state:
            state[prefix + name] = state.pop(key)

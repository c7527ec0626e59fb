r"""Batch, layer, weight and RMS norm as layers with parameters, computed by :mod:`lnlib.norms.normalize`.

Constructor, parameters, `state_dict` and `repr` are those of `torch.nn`, so that one replaces the other in
both directions; only the arithmetic differs, which holds for any mean and magnitude. The gain of Eq. (5) is
called `weight`, as `torch` does. Group and instance norm are in :mod:`lnlib.norms.channel_modules`.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.linear import linear
from lnlib.norms.batch import batch_norm, batch_norm_by
from lnlib.norms.checks import check_built_for, check_input, check_tensor
from lnlib.norms.normalize import layer_norm, rms_norm, weight_norm
from lnlib.norms.standardize import EPS, laid_out_as, widen

__all__ = ["BatchNorm", "LayerNorm", "RMSNorm", "WeightNormLinear"]


class BatchNorm(nn.BatchNorm1d):
    r"""Batch normalization with running statistics: :class:`torch.nn.BatchNorm1d`, `2d` and `3d` in one.

    Training normalizes by the batch and moves the running statistics towards it,
    $\hat\mu \leftarrow (1 - m)\,\hat\mu + m\,\mu$ and the same for the unbiased variance; evaluation
    normalizes by the running statistics, $g_i\,(a_i - \hat\mu_i)/\sqrt{\hat\sigma_i^2 + \epsilon} + b_i$.

    *Source* Eq. (2), its expectation over the data estimated as Ioffe and Szegedy (2015) do.

    Args:
        num_features: units, or channels: the length of axis 1.
        eps: added to the variance.
        momentum: the weight m of the newest batch; None averages all batches equally.
        affine: learn a gain and a bias.
        track_running_stats: keep running statistics; without them evaluation uses the batch as well.
        device, dtype: of parameters and statistics.
        bias: learn the bias too.
        unbiased: normalize by the unbiased variance too. `torch` has the biased one there.

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
        check_built_for(type(self).__name__, a, self.num_features)
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
            count = self.num_batches_tracked
            if count is not None:
                count.add_(1)
            x, over = widen(a), [0, *range(2, a.ndim)]
            center = x.mean(over, keepdim=True)
            d = x - center
            d -= d.mean(over, keepdim=True)  # what the rounding of the center left
            # torch.var_mean takes ten times as long over cases
            batch_mean, batch_var = center.flatten(), d.square().sum(over) / (cases - 1)
            step: float | Tensor = 0.0  # an average of all batches stands still without a count, as torch's
            if self.momentum is not None:
                step = self.momentum
            elif count is not None:  # which stays where it is: to read it would wait for a GPU
                step = 1 / count.to(batch_mean.dtype)
            mean.add_(step * (batch_mean.to(mean.dtype) - mean))
            var.add_(step * (batch_var.to(var.dtype) - var))


class LayerNorm(nn.LayerNorm):
    r"""Layer normalization: :class:`torch.nn.LayerNorm`, computed by :func:`lnlib.layer_norm`.

    $\bar a_i = g_i\,(a_i - \mu)/\sqrt{\sigma^2 + \epsilon} + b_i$ over the last axes of the input.

    *Source* Eqs. (3) and (5); gain 1 and bias 0 at the start, which the supplement swaps.

    Args:
        normalized_shape: the lengths of the last axes, which count as one axis of units; or the last one's.
        eps: added to the variance.
        elementwise_affine: learn a gain and a bias.
        bias: learn the bias too.
        device, dtype: of the parameters.

    The input may be a nested tensor, jagged anywhere but in the last axes.

    Raises:
        TypeError: the input is not floating point, or nested but not jagged.
        ValueError: the input does not end in `normalized_shape`.

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
    ) -> None:
        super().__init__(normalized_shape, eps, elementwise_affine, bias, device, dtype)

    def forward(self, a: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        _check_shape(a, self.normalized_shape)
        if a.is_nested:
            return _jagged_like(a, self.forward(a.values()))
        rows = a.flatten(-len(self.normalized_shape))
        return layer_norm(rows, _flat(self.weight), _flat(self.bias), self.eps).reshape(a.shape)


class WeightNormLinear(nn.Module):
    r"""A linear layer whose weight rows are given as lengths and directions.

    $a_i = \frac{g_i}{\lVert v_i \rVert_2}\, v_i^\top x + b_i$ with :func:`lnlib.weight_norm`.

    *Source* Section 5.1, after Salimans and Kingma (2016). `weight_g` and `weight_v` are `torch`'s names: its
    state dicts load here, those of :func:`torch.nn.utils.parametrizations.weight_norm` too, and ours there.

    Args:
        in_features, out_features: D inputs and H units.
        bias: learn a bias.
        device, dtype: of the parameters.

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
        plain = nn.Linear(in_features, out_features, bias, device, dtype)  # torch's own initialization
        self.in_features, self.out_features = in_features, out_features
        self.register_parameter("bias", plain.bias)
        self.weight_g = nn.Parameter(torch.linalg.vector_norm(plain.weight.detach(), dim=1, keepdim=True))
        self.weight_v = nn.Parameter(plain.weight.detach())
        self.register_load_state_dict_pre_hook(_rename_parametrization)

    @property
    def weight(self) -> Float[Tensor, "H D"]:
        """The weight matrix that the lengths and directions make."""
        return weight_norm(self.weight_v, self.weight_g.flatten())

    def forward(self, x: Float[Tensor, "*N D"]) -> Float[Tensor, "*N H"]:
        check_tensor(type(self).__name__, "the input", x)
        if x.shape[-1:] != (self.in_features,):
            raise ValueError(
                f"{type(self).__name__}: the last axis holds the {self.in_features} inputs, and the shape is "
                f"{tuple(x.shape)}; move them there, or build the layer for that many"
            )
        return linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class RMSNorm(nn.RMSNorm):
    r"""Root-mean-square normalization: :class:`torch.nn.RMSNorm`, computed by :func:`lnlib.rms_norm`.

    $\bar a_i = g_i\,a_i/\sqrt{\frac1H\sum_j a_j^2 + \epsilon}$ over the last axes of the input.

    *Source* Zhang and Sennrich (2019).

    Args:
        normalized_shape: the lengths of the last axes, which count as one axis of units; or the last one's.
        eps: added to the mean square; None, `torch`'s default, for the rounding unit of the computation.
        elementwise_affine: learn a gain.
        device, dtype: of the parameters.

    The input may be a nested tensor, jagged anywhere but in the last axes.

    Raises:
        TypeError: the input is not floating point, or nested but not jagged.
        ValueError: the input does not end in `normalized_shape`.

    >>> RMSNorm(2, eps=0.0)(torch.tensor([1.0, 7.0])).detach()
    tensor([0.2000, 1.4000])
    """

    def forward(self, a: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        _check_shape(a, self.normalized_shape)
        if a.is_nested:
            return _jagged_like(a, self.forward(a.values()))
        check_input(type(self).__name__, a, self.eps or 0.0)
        rows = a.flatten(-len(self.normalized_shape))
        eps = torch.finfo(torch.promote_types(a.dtype, torch.float32)).eps if self.eps is None else self.eps
        return laid_out_as(a, rms_norm(rows, _flat(self.weight), eps).reshape(a.shape))


def _check_shape(a: Tensor, normalized_shape: tuple[int, ...]) -> None:
    """Refuse an input whose last axes are not `normalized_shape`, or have no one shape."""
    check_tensor("a norm of the last axes", "the input", a)
    if a.is_nested and a.layout != torch.jagged:
        raise TypeError(
            f"a nested tensor must be jagged, and the input's layout is {a.layout}; build it with "
            f"layout=torch.jagged"
        )
    if a.shape[-len(normalized_shape) :] != torch.Size(normalized_shape):
        raise ValueError(
            f"the input must end in normalized_shape {tuple(normalized_shape)}, and its shape is "
            f"{tuple(a.shape)}; give the module the shape of a case, or move the units to the end"
        )


def _jagged_like(a: Tensor, values: Tensor) -> Tensor:
    """The nested tensor of these values that can be added to a: no case depends on another."""
    return torch.nested.nested_tensor_from_jagged(values, a.offsets(), a.lengths(), a._ragged_idx)  # type: ignore[attr-defined]


def _flat(parameter: Tensor | None) -> Tensor | None:
    """A gain or bias as one axis of units."""
    return None if parameter is None else parameter.flatten()


def _rename_parametrization(module: nn.Module, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    """Read the names that torch.nn.utils.parametrizations.weight_norm writes."""
    for index, name in enumerate(("weight_g", "weight_v")):
        key = f"{prefix}parametrizations.weight.original{index}"
        if key in state:
            state[prefix + name] = state.pop(key)

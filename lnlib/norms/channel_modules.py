r"""Group and instance norm as layers with parameters, computed by :mod:`lnlib.norms.channel_norms`.

Parameters, `state_dict` and `repr` are those of `torch.nn`; so is :class:`GroupNorm`'s constructor.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnlib.norms.channel_norms import group_norm, instance_norm
from lnlib.norms.checks import check_built_for, check_groups
from lnlib.norms.standardize import EPS

__all__ = ["GroupNorm", "InstanceNorm"]


class GroupNorm(nn.GroupNorm):
    r"""Group normalization: :class:`torch.nn.GroupNorm`, computed by :func:`lnlib.group_norm`.

    $\bar a_c = g_c\,(a_c - \mu_k)/\sqrt{\sigma_k^2 + \epsilon} + b_c$ for channel c in group k.

    *Source* Wu and He (2018).

    Args:
        num_groups: how many groups; divides `num_channels`.
        num_channels: the length of axis 1.
        eps: added to the variance.
        affine: learn a gain and a bias.
        device, dtype: of the parameters.
        bias: learn the bias too.

    >>> GroupNorm(2, 4, eps=0.0)(torch.tensor([[1.0, 3.0, 10.0, 30.0]])).detach()
    tensor([[-1.,  1., -1.,  1.]])
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = EPS,
        affine: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        if num_groups == 0:  # by which torch divides
            check_groups(type(self).__name__, num_groups, num_channels)
        super().__init__(num_groups, num_channels, eps, affine, device, dtype)
        if not bias:  # not every torch takes it
            self.register_parameter("bias", None)

    def forward(self, a: Float[Tensor, "N C *space"]) -> Float[Tensor, "N C *space"]:
        check_built_for(type(self).__name__, a, self.num_channels)
        return group_norm(a, self.num_groups, self.weight, self.bias, self.eps)


class InstanceNorm(nn.InstanceNorm1d):
    r"""Instance normalization: :class:`torch.nn.InstanceNorm1d`, `2d` and `3d` in one.

    $\bar a_c = g_c\,(a_c - \mu_c)/\sqrt{\sigma_c^2 + \epsilon} + b_c$ over space, without
    running statistics. `torch` has their momentum where `affine` would stand, so `affine` goes by name.

    *Source* Ulyanov, Vedaldi, Lempitsky (2016).

    Args:
        num_features: channels: the length of axis 1.
        eps: added to the variance.
        affine: learn a gain and a bias; `torch` does not by default.
        bias: learn the bias too.
        device, dtype: of the parameters.

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
        check_built_for(type(self).__name__, a, self.num_features)
        return instance_norm(a, self.weight, self.bias, self.eps)

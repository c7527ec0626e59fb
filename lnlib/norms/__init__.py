"""The normalizations of Sections 2 and 3 and their relatives, as functions and as layers with parameters.

==================================  ===================================================  ==================
module                              what it holds                                        paper
==================================  ===================================================  ==================
:mod:`lnlib.norms.normalize`        batch, layer, weight and RMS norm                    Eqs. (2), (3), (5)
:mod:`lnlib.norms.modules`          these as layers, in torch.nn's shape
:mod:`lnlib.norms.channel_norms`    group and instance norm                              (later)
:mod:`lnlib.norms.channel_modules`  these as layers, in torch.nn's shape
:mod:`lnlib.norms.standardize`      means and deviations that stay accurate at any size
:mod:`lnlib.norms.checks`           what they refuse, and how they say so
==================================  ===================================================  ==================
"""

from lnlib.norms.channel_modules import GroupNorm, InstanceNorm
from lnlib.norms.channel_norms import group_norm, instance_norm
from lnlib.norms.modules import BatchNorm, LayerNorm, RMSNorm, WeightNormLinear
from lnlib.norms.normalize import batch_norm, layer_norm, rms_norm, weight_norm

__all__ = [
    "BatchNorm",
    "GroupNorm",
    "InstanceNorm",
    "LayerNorm",
    "RMSNorm",
    "WeightNormLinear",
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "rms_norm",
    "weight_norm",
]

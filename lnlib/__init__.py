"""Layer Normalization (Ba, Kiros, Hinton 2016), executed.

The paper's normalizations and their relatives, as functions of tensors and as layers with parameters;
recurrent networks with a normalization inside; and the models of Section 5, their invariances and geometry.
"""

import importlib
from types import ModuleType

from lnlib.glm import GLM
from lnlib.norms.batch import batch_norm
from lnlib.norms.modules import BatchNorm, GroupNorm, InstanceNorm, LayerNorm, RMSNorm, WeightNormLinear
from lnlib.norms.normalize import group_norm, instance_norm, layer_norm, rms_norm, weight_norm
from lnlib.rnn import GRU, LSTM, RNN

# Eq. (2), Eq. (3), the weight normalization of Section 5, what came later; Section 3.1; Section 5.
__all__ = [  # noqa: RUF022
    "batch_norm",
    "layer_norm",
    "weight_norm",
    "rms_norm",
    "group_norm",
    "instance_norm",
    "BatchNorm",
    "LayerNorm",
    "WeightNormLinear",
    "RMSNorm",
    "GroupNorm",
    "InstanceNorm",
    "RNN",
    "LSTM",
    "GRU",
    "GLM",
    "equations",
    "fisher",
    "invariance",
    "rnn",
]

__version__ = "0.6.0"


def __getattr__(name: str) -> ModuleType:
    """`lnlib.equations`, `lnlib.fisher` and `lnlib.invariance`, imported when first asked for."""
    if name in ("equations", "fisher", "invariance"):
        return importlib.import_module(f"lnlib.{name}")
    raise AttributeError(f"module 'lnlib' has no attribute {name!r}")

"""Each norm beside torch's, on the inputs that the tests share."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from hypothesis import strategies as st
from torch import Tensor

from lnlib import batch_norm, group_norm, instance_norm, layer_norm, rms_norm, weight_norm

HALF = [torch.float16, torch.bfloat16]
DTYPES = [torch.float64, torch.float32, *HALF]
# A dozen roundings of float64, and 3 bits for |mean|/std, in numbers of size 1 to 10.
EXACT = {"rtol": 1e-13, "atol": 1e-13}

# name -> (ours, torch's) on (6, 8, 5) inputs, with a gain and a bias for the 8 units or channels
PAIRS: dict[str, tuple[Callable[..., Tensor], Callable[..., Tensor]]] = {
    "batch": (
        lambda a, g, b, eps=1e-5: batch_norm(a, g, b, eps),
        lambda a, g, b, eps=1e-5: F.batch_norm(a, None, None, g, b, training=True, eps=eps),
    ),
    "layer": (
        lambda a, g, b, eps=1e-5: layer_norm(a, g, b, eps, dim=1),
        lambda a, g, b, eps=1e-5: F.layer_norm(a.mT, (8,), g, b, eps).mT,
    ),
    "rms": (
        lambda a, g, b, eps=1e-5: rms_norm(a, g, eps, dim=1),
        lambda a, g, b, eps=1e-5: F.rms_norm(a.mT, (8,), g, eps).mT,
    ),
    "group": (
        lambda a, g, b, eps=1e-5: group_norm(a, 4, g, b, eps),
        lambda a, g, b, eps=1e-5: F.group_norm(a, 4, g, b, eps),
    ),
    "instance": (
        lambda a, g, b, eps=1e-5: instance_norm(a, g, b, eps),
        lambda a, g, b, eps=1e-5: F.instance_norm(a, weight=g, bias=b, eps=eps),
    ),
    "weight": (
        lambda a, g, b, eps=1e-5: weight_norm(a.transpose(0, 1), g),
        lambda a, g, b, eps=1e-5: torch._weight_norm(a.transpose(0, 1), g[:, None, None], 0),
    ),
}
# torch imports its own TorchScript code when it first differentiates forward, or compiles
torch_scripts_itself = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
every_norm = pytest.mark.parametrize("name", PAIRS)


def draw(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed))


def inputs(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    return draw(6, 8, 5).to(dtype), draw(8, seed=1).to(dtype), draw(8, seed=2).to(dtype)


eighths = st.integers(-80, 80).map(lambda k: k / 8)
rows = st.lists(eighths, min_size=2, max_size=9).filter(lambda v: max(v) > min(v))

"""Each norm on the inputs that the tests share."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from glms import draw
from torch import Tensor

from lnlib import batch_norm, group_norm, instance_norm, layer_norm, rms_norm, weight_norm

HALF = [torch.float16, torch.bfloat16]
DTYPES = [torch.float64, torch.float32, *HALF]
# A dozen roundings of float64, and 3 bits for |mean|/std, in numbers of size 1 to 10.
EXACT = {"rtol": 1e-13, "atol": 1e-13}

# on (6, 8, 5) inputs, with a gain and a bias for the 8 units or channels
NORMS: dict[str, Callable[..., Tensor]] = {
    "batch": batch_norm,
    "layer": partial(layer_norm, dim=1),
    "rms": lambda a, g, b, eps=1e-5: rms_norm(a, g, eps, dim=1),
    "group": lambda a, g, b, eps=1e-5: group_norm(a, 4, g, b, eps),
    "instance": instance_norm,
    "weight": lambda a, g, b, eps=1e-5: weight_norm(a.transpose(0, 1), g),
}
# torch imports its own TorchScript code when it first differentiates forward, or compiles
torch_scripts_itself = pytest.mark.filterwarnings("ignore:.torch.jit.script:DeprecationWarning")
every_norm = pytest.mark.parametrize("name", NORMS)


def inputs(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor, Tensor]:
    return draw(6, 8, 5).to(dtype), draw(8, seed=1).to(dtype), draw(8, seed=2).to(dtype)

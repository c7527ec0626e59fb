"""What the tests of recurrent networks share: networks whose every parameter is random, inputs, states."""

from functools import partial
from typing import Any

import glms
import pytest
import torch
from paths import WAYS
from torch import Tensor

import lnlib

draw = partial(glms.draw, seed=1)
KINDS = ("RNN", "LSTM", "GRU")
every_kind = pytest.mark.parametrize("kind", KINDS)

# Every norm of every kind on the plain path in double precision, and all that the compiled kernels run.
NETWORKS = [(kind, norm, "plain double") for kind in KINDS for norm in ("layer", "rms", "weight", "none")]
NETWORKS += [(kind, norm, "chosen single") for kind in ("LSTM", "GRU") for norm in ("layer", "rms")]
every_network = pytest.mark.parametrize(
    ("kind", "norm", "way"),
    [(kind, norm, WAYS[way]) for kind, norm, way in NETWORKS],
    ids=[" ".join(row) for row in NETWORKS],
)


def random_network(
    sizes: tuple[int, int], kind: str, dtype: torch.dtype = torch.float64, **options: Any
) -> Any:
    """A network of (inputs, units); its gains are about 1."""
    torch.manual_seed(0)
    module = getattr(lnlib, kind)(*sizes, dtype=dtype, **options)
    with torch.no_grad():
        for name, value in module.named_parameters():
            value.copy_(0.6 * torch.randn_like(value) + name.startswith("gain"))
    return module


def states(hx: Any) -> tuple[Tensor, ...]:
    """h, or h and c."""
    return hx if isinstance(hx, tuple) else (hx,)


def as_hx(parts: tuple[Tensor, ...]) -> Any:
    """The same as networks take it."""
    return parts if len(parts) > 1 else parts[0]


def start_of(module: Any, cases: int, dtype: torch.dtype = torch.float64) -> Any:
    """A random hx of the right shape, which wants gradients."""
    rows = module.num_layers * (1 + module.bidirectional)
    widths = [module.proj_size or module.hidden_size, module.hidden_size][: 1 + (module.mode == "LSTM")]
    parts = (draw(rows, cases, width, seed=k, dtype=dtype) for k, width in enumerate(widths))
    return as_hx(tuple(part.requires_grad_() for part in parts))

"""Networks whose every parameter is random, so that none drops out of a comparison."""

from typing import Any

import torch

import lnlib


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

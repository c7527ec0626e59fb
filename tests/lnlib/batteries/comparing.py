"""How the two batteries of torch's inputs compare, and find what is documented."""

import re
from typing import Any

import pytest
import torch
from documented import Difference
from torch import Tensor
from torch.testing import assert_close

# Relative to the largest entry: both round some hundred times, by 2**-24 or 2**-53, and add up in another
# order what is up to 5 steps and 2 layers deep, or sums of up to 640 gradients.
CLOSE = {torch.float64: 1e-12, torch.float32: 3e-5}

every_dtype = pytest.mark.parametrize("dtype", CLOSE, ids=str)


def close(mine: Any, its: Any, tolerance: float) -> None:
    """Up to the rounding of the largest entry."""
    for a, b in zip(tensors(mine), tensors(its), strict=True):
        largest = b.detach().abs().max().item() if b.numel() else 0.0
        assert_close(a, b, rtol=tolerance, atol=tolerance * max(1.0, largest))


def tensors(values: Any) -> list[Tensor]:
    """The tensors in arguments or results, in order."""
    if isinstance(values, Tensor):
        return [values]
    return [t for value in values for t in tensors(value)] if isinstance(values, (list, tuple)) else []


def known(entries: list[Difference], name: str, words: str) -> Difference | None:
    """The documented difference that this input meets."""
    return next((d for d in entries if d.name == name and re.search(d.inputs, words)), None)

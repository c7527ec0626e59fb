"""What a GLM refuses, and how it says so: the invariant, the values found, the fix."""

from typing import Any

import torch
from torch import Tensor

__all__ = ["check_array", "check_case_weights"]


def check_array(name: str, value: Any, like: Tensor, shape: tuple[Any, ...]) -> None:
    """Refuse what is no finite tensor of this shape, of the type and on the device of the weights."""
    if not isinstance(value, Tensor) or value.dtype != like.dtype or not value.is_floating_point():
        found = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise TypeError(f"{name} is of type {found}; give a tensor like the weights, of {like.dtype}")
    if value.device != like.device:
        raise ValueError(f"{name} is on {value.device}, the weights on {like.device}; move one of them")
    if value.shape != shape:
        raise ValueError(f"{name} has shape {tuple(value.shape)}; give it as {tuple(shape)}")
    if not bool(torch.isfinite(torch.stack(torch.aminmax(value.detach()))).all()):  # no copy, unlike isfinite
        raise ValueError(f"{name} contains NaN or infinity; remove or repair what does")


def check_case_weights(X: Tensor, weights: Any) -> None:
    """Refuse weights that are no distribution over the cases once divided by their sum."""
    if not isinstance(weights, Tensor):
        raise TypeError(f"weights are of type {type(weights).__name__}; give a tensor with one number a case")
    if weights.shape != X.shape[:1] or not bool((weights >= 0).all() and 0 < weights.sum() < float("inf")):
        raise ValueError(
            f"weights have shape {tuple(weights.shape)} and sum {weights.sum():g}; give {len(X)} finite "
            "numbers >= 0, one a case, not all of them 0"
        )

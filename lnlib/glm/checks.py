"""What a GLM refuses, and how it says so: the invariant, the values found, the fix."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lnlib.norms.checks import is_eps

__all__ = [
    "NORMS",
    "check_case_weights",
    "check_dispersion",
    "check_eps",
    "check_features",
    "check_parameters",
    "check_standard_deviations",
    "check_statistics",
]

#: What a GLM may be normalized by.
NORMS = (None, "batch", "weight", "layer", "rms")


def check_parameters(W: Any, b: Any, gain: Any, norm: str | None) -> None:
    """Refuse weights, biases and gains that do not fit each other or the norm."""
    if norm not in NORMS:
        raise ValueError(f"norm is {norm!r}; use None, 'batch', 'weight', 'layer' or 'rms'")
    _check_floating("W", W)
    if W.ndim != 2 or 0 in W.shape:
        raise ValueError(f"W has shape {tuple(W.shape)}; give it as (H, D) with H, D >= 1")
    if norm is None and gain is not None:
        raise ValueError(
            "a gain was given without a norm; choose a norm, or multiply the rows of W by the gain"
        )
    _check_unit_numbers("b", b, W)
    if gain is not None:
        _check_unit_numbers("gain", gain, W)
    _check_finite("W", W)
    if norm == "weight" and bool((W == 0).all(1).any()):
        rows = (W == 0).all(1).nonzero().flatten().tolist()
        raise ValueError(
            f"rows {rows} of W are zero; weight norm divides by their length: start them elsewhere"
        )


def check_features(X: Any, W: Tensor) -> None:
    """Refuse features that a model of these weights cannot take."""
    D = W.shape[1]
    if not isinstance(X, Tensor):
        raise TypeError(f"X is of type {type(X).__name__}; give a tensor, torch.as_tensor(X) for instance")
    if X.ndim != 2 or X.shape[1] != D or len(X) == 0:
        raise ValueError(
            f"X has shape {tuple(X.shape)}; give one row a case, at least one, of D = {D} features"
        )
    _check_like("X", X, W)
    if not bool(torch.isfinite(torch.stack(torch.aminmax(X))).all()):  # no copy of X, unlike isfinite(X)
        bad = int((~torch.isfinite(X)).any(1).sum())
        raise ValueError(f"X contains NaN or infinity in {bad} of {len(X)} cases; remove or repair them")


def check_dispersion(dispersion: Any, W: Tensor) -> None:
    """Refuse what is neither a number nor an (H, H) matrix; which of the two, the family says itself."""
    H = len(W)
    if isinstance(dispersion, Tensor):
        if dispersion.shape != (H, H):
            raise ValueError(
                f"dispersion is a tensor of shape {tuple(dispersion.shape)}; a number is a float, a "
                f"covariance of the outputs a tensor of shape {H, H}"
            )
        _check_like("dispersion", dispersion, W)
    elif isinstance(dispersion, bool) or not isinstance(dispersion, (int, float)):
        raise TypeError(
            f"dispersion is of type {type(dispersion).__name__}; give a float or an (H, H) tensor"
        )


def check_eps(eps: float, norm: str | None) -> None:
    """Refuse numbers that cannot be added to a variance, and any where the norm has none."""
    if not is_eps(eps):
        raise ValueError(f"eps is {eps!r}; it is added to a variance, give a number >= 0")
    if eps and norm in (None, "weight"):
        raise ValueError(f"eps is {eps} with norm {norm!r}, which has no variance to add it to; leave it 0")


def check_statistics(statistics: Any, frozen: bool, W: Tensor, norm: str | None, eps: float) -> None:
    """Refuse frozen statistics of another norm, or that are not a mean and a variance of every unit."""
    if (frozen or statistics is not None) and norm != "batch":
        raise ValueError(f"frozen statistics were given with norm {norm!r}; only batch norm has them")
    if statistics is None:
        return
    if not frozen:
        raise ValueError("statistics were given and frozen is False; set frozen=True, or leave them out")
    if len(statistics) != 2:
        raise ValueError(
            f"statistics have {len(statistics)} parts; give the mean and the variance, (H,) each"
        )
    for name, value in zip(("the mean of statistics", "the variance of statistics"), statistics, strict=True):
        _check_unit_numbers(name, value, W)
    check_standard_deviations(statistics[1], eps)


def check_case_weights(X: Tensor, weights: Tensor) -> None:
    """Refuse weights that are no distribution over the cases once divided by their sum."""
    if not isinstance(weights, Tensor):
        raise TypeError(f"weights are of type {type(weights).__name__}; give a tensor with one number a case")
    if weights.shape != X.shape[:1] or not bool((weights >= 0).all() and 0 < weights.sum() < float("inf")):
        raise ValueError(
            f"weights have shape {tuple(weights.shape)} and sum {weights.sum():g}; give {len(X)} finite "
            "numbers >= 0, one a case, not all of them 0"
        )


def check_standard_deviations(var: Tensor, eps: float) -> None:
    """Refuse constants to divide by that are 0 (statistics that vary define 0/0 as 0 instead)."""
    if not bool((var + eps > 0).all()):
        units = (~(var + eps > 0)).nonzero().flatten().tolist()
        raise ValueError(
            f"the frozen variance of units {units} is 0, and batch norm divides by its root; "
            "give eps > 0, or statistics of cases on which those units vary"
        )


def _check_floating(name: str, value: Tensor) -> None:
    if not isinstance(value, Tensor):
        raise TypeError(
            f"{name} is of type {type(value).__name__}; give a tensor, torch.as_tensor({name}) for instance"
        )
    if value.dtype not in (torch.float32, torch.float64):
        raise TypeError(
            f"{name} is {value.dtype}; convert it to torch.float32 or torch.float64, in which the geometry "
            "is computed"
        )


def _check_like(name: str, value: Tensor, W: Tensor) -> None:
    """One type and one device for everything."""
    if value.dtype != W.dtype:
        raise TypeError(f"{name} is {value.dtype} and W {W.dtype}; convert one of them")
    if value.device != W.device:
        raise ValueError(f"{name} is on {value.device} and W on {W.device}; move one of them")


def _check_finite(name: str, value: Tensor) -> None:
    if not bool(torch.isfinite(value).all()):
        raise ValueError(f"{name} contains NaN or infinity; the model needs finite parameters")


def _check_unit_numbers(name: str, value: Any, W: Tensor) -> None:
    """One finite number a unit, like W in type and device."""
    _check_floating(name, value)
    if value.shape != W.shape[:1]:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)} and W {tuple(W.shape)}; "
            f"give one number a unit: {tuple(W.shape[:1])}"
        )
    _check_like(name, value, W)
    _check_finite(name, value)

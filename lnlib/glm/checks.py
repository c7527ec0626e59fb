"""What a GLM refuses, and how it says so: the invariant, the values found, the fix."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from lnlib.glm import GLM

__all__ = ["NORMS", "check_case_weights", "check_features", "check_model", "check_standard_deviations"]

NORMS = (None, "batch", "weight", "layer", "rms")


def check_model(glm: GLM) -> None:
    """Refuse parameters and options that do not make a model."""
    if glm.norm not in NORMS:
        raise ValueError(f"norm is {glm.norm!r}; use None, 'batch', 'weight', 'layer' or 'rms'")
    _check_floating("W", glm.W)
    if glm.W.ndim != 2 or 0 in glm.W.shape:
        raise ValueError(f"W has shape {tuple(glm.W.shape)}; give it as (H, D) with H, D >= 1")
    if glm.norm is None and glm.gain is not None:
        raise ValueError(
            "a gain was given without a norm; choose a norm, or multiply the rows of W by the gain"
        )
    _check_unit_numbers(glm, "b", glm.b)
    if glm.gain is not None:
        _check_unit_numbers(glm, "gain", glm.gain)
    _check_finite("W", glm.W)
    if glm.norm == "weight" and bool((glm.W == 0).all(1).any()):
        rows = (glm.W == 0).all(1).nonzero().flatten().tolist()
        raise ValueError(
            f"rows {rows} of W are zero; weight norm divides by their length: start them elsewhere"
        )
    _check_dispersion_type(glm)
    _check_eps(glm)
    _check_statistics(glm)


def check_features(glm: GLM, X: Tensor) -> None:
    """Refuse features that the model cannot take."""
    D = glm.W.shape[1]
    if not isinstance(X, Tensor):
        raise TypeError(f"X is of type {type(X).__name__}; give a tensor, torch.as_tensor(X) for instance")
    if X.ndim != 2 or X.shape[1] != D or len(X) == 0:
        raise ValueError(
            f"X has shape {tuple(X.shape)}; give one row a case, at least one, of D = {D} features"
        )
    _check_like(glm, "X", X)
    if not bool(torch.isfinite(torch.stack(torch.aminmax(X))).all()):  # no copy of X, unlike isfinite(X)
        bad = int((~torch.isfinite(X)).any(1).sum())
        raise ValueError(f"X contains NaN or infinity in {bad} of {len(X)} cases; remove or repair them")


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


def _check_like(glm: GLM, name: str, value: Tensor) -> None:
    """One type and one device for everything."""
    if value.dtype != glm.W.dtype:
        raise TypeError(f"{name} is {value.dtype} and W {glm.W.dtype}; convert one of them")
    if value.device != glm.W.device:
        raise ValueError(f"{name} is on {value.device} and W on {glm.W.device}; move one of them")


def _check_finite(name: str, value: Tensor) -> None:
    if not bool(torch.isfinite(value).all()):
        raise ValueError(f"{name} contains NaN or infinity; the model needs finite parameters")


def _check_unit_numbers(glm: GLM, name: str, value: Tensor) -> None:
    """One finite number a unit, like W in type and device."""
    _check_floating(name, value)
    if value.shape != glm.W.shape[:1]:
        raise ValueError(
            f"{name} has shape {tuple(value.shape)} and W {tuple(glm.W.shape)}; "
            f"give one number a unit: {tuple(glm.W.shape[:1])}"
        )
    _check_like(glm, name, value)
    _check_finite(name, value)


def _check_dispersion_type(glm: GLM) -> None:
    phi, H = glm.dispersion, len(glm.b)
    if isinstance(phi, Tensor):
        if phi.shape != (H, H):
            raise ValueError(
                f"dispersion is a tensor of shape {tuple(phi.shape)}; a number is a float, a covariance of "
                f"the outputs a tensor of shape {H, H}"
            )
        _check_like(glm, "dispersion", phi)
    elif isinstance(phi, bool) or not isinstance(phi, (int, float)):
        raise TypeError(f"dispersion is of type {type(phi).__name__}; give a float or an (H, H) tensor")


def _check_eps(glm: GLM) -> None:
    if not 0 <= glm.eps < float("inf"):
        raise ValueError(f"eps is {glm.eps}; it is added to a variance, give a number >= 0")
    if glm.eps and glm.norm in (None, "weight"):
        raise ValueError(
            f"eps is {glm.eps} with norm {glm.norm!r}, which has no variance to add it to; leave it 0"
        )


def _check_statistics(glm: GLM) -> None:
    if (glm.frozen or glm.statistics is not None) and glm.norm != "batch":
        raise ValueError(f"frozen statistics were given with norm {glm.norm!r}; only batch norm has them")
    if glm.statistics is None:
        return
    if not glm.frozen:
        raise ValueError("statistics were given and frozen is False; set frozen=True, or leave them out")
    if len(glm.statistics) != 2:
        raise ValueError(
            f"statistics have {len(glm.statistics)} parts; give the mean and the variance, (H,) each"
        )
    for name, value in zip(
        ("the mean of statistics", "the variance of statistics"), glm.statistics, strict=True
    ):
        _check_unit_numbers(glm, name, value)
    check_standard_deviations(glm.statistics[1], glm.eps)

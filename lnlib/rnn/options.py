"""The options of a recurrent network, checked: each refusal names what must hold, the value, and the fix."""

from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import Any

__all__ = [
    "DEFAULTS",
    "check_batch",
    "check_call",
    "check_candidate_dropout",
    "check_choice",
    "check_forget_bias",
    "check_probability",
    "zoneout_rates",
]


# What a network is built with beyond its norm, in the order in which it is shown.
DEFAULTS = {
    "forget_bias": 0.0,
    "zoneout": 0.0,
    "recurrent_dropout": 0.0,
    "variational_dropout": 0.0,
    "learn_initial_state": False,
    "memory": "save",
    "max_steps": None,
    "momentum": 0.1,
}


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; use one of {', '.join(choices)}")
    return value


def check_probability(name: str, value: Any, most: str = "") -> float:
    """A number from 0 up to, but not including, 1; or including it, where `most` says what 1 means."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1 or (value == 1 and not most):
        limit = (
            f"from 0 to 1, which {most}" if most else "from 0 to below 1: at 1 nothing is left to scale up"
        )
        raise ValueError(f"{name} is a probability {limit}, and it is {value!r}; 0 turns it off")
    return float(value)


def check_forget_bias(value: Any, kind: str, bias: bool) -> float:
    """A finite number; other than 0 only where there is a forget gate with a bias."""
    if not isinstance(value, Real) or isinstance(value, bool) or not isfinite(value):
        raise ValueError(f"forget_bias is added to a bias, so it is a finite number, and it is {value!r}")
    if value and kind != "LSTM":
        raise ValueError(f"forget_bias is {value}, and no gate of an {kind} is called forget; leave it at 0")
    if value and not bias:
        raise ValueError(
            f"forget_bias is {value}, and with bias=False there is none to start from it; use bias=True"
        )
    return float(value)


def zoneout_rates(value: Any, kind: str) -> tuple[float, ...]:
    """How often each part of the state keeps its old value: of h, and for an LSTM of c; () for never."""
    pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value if kind == "LSTM" else 0.0)
    if len(pair) != 2:
        raise ValueError(f"zoneout is one probability, or one for h and one for c, and it is {value!r}")
    h, c = (
        check_probability(f"zoneout of {part}", p, "keeps the state for good")
        for part, p in zip("hc", pair, strict=True)
    )
    if c and kind != "LSTM":
        raise ValueError(f"zoneout of c is {c}, and an {kind} has no cell c; give one number, or (h, 0)")
    if not h and not c:
        return ()
    return (h, c) if kind == "LSTM" else (h,)


def check_candidate_dropout(value: Any, kind: str) -> float:
    """A probability; 0 where there is no candidate."""
    rate = check_probability("recurrent_dropout", value)
    if rate and kind == "RNN":
        raise ValueError(
            f"recurrent_dropout is {rate}, and drops what a gate lets into memory, which an RNN has not; "
            f"use variational_dropout, zoneout, an LSTM or a GRU"
        )
    return rate


def check_batch(norm: str, max_steps: Any, momentum: Any) -> None:
    """Batch norm has statistics for so many steps, and only batch norm has."""
    if norm != "batch":
        if max_steps is not None:
            raise ValueError(
                f"max_steps is {max_steps!r} and norm is {norm!r}; only norm='batch' keeps statistics"
            )
        return
    if not isinstance(max_steps, int) or isinstance(max_steps, bool) or max_steps < 1:
        raise ValueError(
            f"norm='batch' keeps statistics for each of the first max_steps steps, and max_steps is "
            f"{max_steps!r}; give a whole number, such as the length of the longest training sequence"
        )
    if momentum is not None:
        check_probability("momentum", momentum, "forgets all batches but the last")


def check_call(kind: str, norm: str, reset: Any, return_cells: bool) -> None:
    """What a call may ask of which network."""
    if reset is not None and norm == "batch":
        raise ValueError(
            "norm='batch' has statistics for each step from the start of a sequence, and reset gives the "
            "sequences different starts; run what lies between two resets as sequences of a packed batch"
        )
    if return_cells and kind != "LSTM":
        raise ValueError(f"return_cells asks for an LSTM's cells, and this is an {kind}; leave it out")

"""The options of a recurrent network beyond torch.nn's: names, defaults, and what they may be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import isfinite
from numbers import Real
from typing import Any

from lnlib.norms.checks import is_eps
from lnlib.norms.standardize import EPS
from lnlib.rnn.variants import Variant, variant_of

__all__ = ["OPTIONS", "Config"]

NORMS = ("layer", "rms", "weight", "batch", "none")


@dataclass(frozen=True)
class Config:
    """What :class:`lnlib.LSTM` documents behind the star, of a network of some kind, "RNN", "LSTM" or "GRU".

    Raises ValueError in words that name what must hold, the value, and the fix.
    """

    kind: str
    bias: bool
    norm: str = "layer"
    variant: str | Variant = "paper"
    eps: float = EPS
    forget_bias: float = 0.0
    zoneout: float | tuple[float, float] = 0.0
    recurrent_dropout: float = 0.0
    memory: str = "save"
    max_steps: int | None = None
    momentum: float | None = 0.1

    def __post_init__(self) -> None:
        _check_choice("norm", self.norm, NORMS)
        _check_choice("memory", self.memory, ("save", "recompute"))
        if not is_eps(self.eps):
            raise ValueError(f"eps is {self.eps!r}; it is added to a variance, give a number >= 0")
        if self.row.eps is not None:
            object.__setattr__(self, "eps", self.row.eps)
        self._check_forget_bias()
        self._check_zoneout()
        _check_probability("recurrent_dropout", self.recurrent_dropout)
        if self.recurrent_dropout and self.kind == "RNN":
            raise ValueError(
                f"recurrent_dropout is {self.recurrent_dropout}, and drops what a gate lets into memory, "
                f"which an RNN has not; use zoneout, an LSTM or a GRU"
            )
        self._check_batch()

    @property
    def row(self) -> Variant:
        """What is normalized where; without a norm torch's."""
        return variant_of(self.kind, self.variant, self.norm)

    @property
    def rates(self) -> tuple[float, ...]:
        """How often each part of the state keeps its old value: of h, and of an LSTM's c; () for never."""
        given = self.zoneout
        pair = tuple(given) if isinstance(given, (tuple, list)) else (given, given)
        return pair[: 1 + (self.kind == "LSTM")] if any(pair) else ()

    def added(self, gates: int, units: int) -> Iterator[tuple[str, int]]:
        """Names and sizes of a layer's parameters beyond torch.nn's."""
        row, rows = self.row, gates * units
        if self.norm == "weight" or row.gates != "none":
            yield "gain_ih", rows
        if self.norm == "weight" or row.gates == "separate":
            yield "gain_hh", rows
        if row.inner_bias and self.bias:
            yield "bias_inner", rows
        if row.inner_bias == "both" and self.bias:
            yield "bias_inner_hh", rows
        if row.cell != "raw":
            yield "gain_cell", units
            if self.bias:
                yield "bias_cell", units

    def shown(self) -> str:
        """The norm, and what differs from the default."""
        names = [name for name in OPTIONS[3:] if getattr(self, name) != getattr(Config, name)]
        if self.variant != "paper" and self.norm not in ("none", "weight"):
            names.insert(0, "variant")
        return ", ".join(f"{name}={getattr(self, name)}" for name in ("norm", *names))

    def _check_forget_bias(self) -> None:
        value = self.forget_bias
        if not isinstance(value, Real) or isinstance(value, bool) or not isfinite(value):
            raise ValueError(f"forget_bias is added to a bias, so it is a finite number, and it is {value!r}")
        if value and self.kind != "LSTM":
            raise ValueError(
                f"forget_bias is {value}, and no gate of an {self.kind} is called forget; leave it at 0"
            )
        if value and not self.bias:
            raise ValueError(
                f"forget_bias is {value}, and with bias=False there is none to start from it; use bias=True"
            )

    def _check_zoneout(self) -> None:
        value, two = self.zoneout, isinstance(self.zoneout, (tuple, list))
        pair = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
        if len(pair) != 2:
            raise ValueError(f"zoneout is one probability, or one for h and one for c, and it is {value!r}")
        for part, rate in zip("hc", pair, strict=True):
            _check_probability(f"zoneout of {part}", rate, "keeps the state for good")
        if two and pair[1] and self.kind != "LSTM":
            raise ValueError(
                f"zoneout of c is {pair[1]}, and an {self.kind} has no cell c; give one number, or (h, 0)"
            )

    def _check_batch(self) -> None:
        """Batch norm has statistics for so many steps, and only batch norm has."""
        steps = self.max_steps
        if self.norm != "batch":
            if steps is not None:
                raise ValueError(
                    f"max_steps is {steps!r} and norm is {self.norm!r}; only norm='batch' keeps statistics"
                )
        elif not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
            raise ValueError(
                f"norm='batch' keeps statistics for each of the first max_steps steps, and max_steps is "
                f"{steps!r}; give a whole number, such as the length of the longest training sequence"
            )
        elif self.momentum is not None:
            _check_probability("momentum", self.momentum, "forgets all batches but the last")


OPTIONS = tuple(field.name for field in fields(Config))[2:]  # what a user gives


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is {value!r}; use one of {', '.join(choices)}")


def _check_probability(name: str, value: Any, most: str = "") -> None:
    """A number from 0 up to, but not including, 1; or including it, where `most` says what 1 means."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 <= value <= 1 or (value == 1 and not most):
        limit = (
            f"from 0 to 1, which {most}" if most else "from 0 to below 1: at 1 nothing is left to scale up"
        )
        raise ValueError(f"{name} is a probability {limit}, and it is {value!r}; 0 turns it off")

"""From torch.nn's forms of a batch to sequences in the order of their lengths, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence

from lnlib.norms.checks import check_tensor

__all__ = ["Form"]


@dataclass(frozen=True)
class Form:
    """How the caller laid out a batch: packed, (T, N, .), (N, T, .), or one sequence, (T, .).

    Attributes:
        steps, cases: T of the longest sequence, and N.
        time: the axis of the steps.
        unbatched: there is no axis of sequences.
        packed: the PackedSequence, if it is one.
    """

    steps: int
    cases: int
    time: int = 0
    unbatched: bool = False
    packed: PackedSequence | None = None

    @classmethod
    def of(cls, given: Tensor | PackedSequence, batch_first: bool, name: str = "RNN") -> tuple[Form, Tensor]:
        """The form of an input, and its numbers as torch.nn's checks want them: with an axis of sequences."""
        if isinstance(given, PackedSequence):
            return cls(len(given.batch_sizes), int(given.batch_sizes[0]), packed=given), given.data
        check_tensor("a recurrent network", "the input", given)
        if given.is_nested:
            raise TypeError(
                "a recurrent network: the input is a nested tensor; "
                "give its sequences as torch.nn.utils.rnn.pack_sequence(x.unbind(), enforce_sorted=False)"
            )
        if given.dim() not in (2, 3):
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {given.dim()}D instead")
        time = int(batch_first)
        x = given.unsqueeze(1 - time) if given.dim() == 2 else given
        return cls(x.shape[time], x.shape[1 - time], time, given.dim() == 2), x

    @property
    def sizes(self) -> list[int]:
        """How many sequences run at each step."""
        return [self.cases] * self.steps if self.packed is None else self.packed.batch_sizes.tolist()

    def rows(self, x: Tensor) -> Float[Tensor, "M D"]:
        """The numbers as the loop over time reads them: of step 1, then of step 2, ..."""
        return x.transpose(0, self.time).flatten(0, 1) if self.packed is None else x

    def output(self, rows: Float[Tensor, "M R"]) -> Any:
        """Such rows in the form of the input."""
        if self.packed is not None:
            return PackedSequence(rows, *self.packed[1:])
        out = rows.unflatten(0, (self.steps, self.cases)).transpose(0, self.time)
        return out.squeeze(1 - self.time) if self.unbatched else out

    def initial(
        self, x: Tensor, hx: Any, layers: int, widths: Sequence[int]
    ) -> tuple[Float[Tensor, "layers N _"], ...]:
        """The caller's hx, or zeros of these widths: of h, and of an LSTM's c. Refused as torch.nn does."""
        if hx is None:
            return tuple(x.new_zeros(layers, self.cases, width) for width in widths)
        two = len(widths) == 2
        if two and (isinstance(hx, Tensor) or len(hx) != 2):
            raise RuntimeError("lstm expects two hidden states: give hx=(h, c), or None for zeros")
        state = tuple(hx) if two else (hx,)
        for part in state:
            check_tensor("a recurrent network", "hx, or each of (h, c) of an LSTM,", part)
        rank = 2 if self.unbatched else 3
        if self.packed is None and any(s.dim() != rank for s in state):
            kind, names = "unbatched" if self.unbatched else "batched", "hx and cx" if two else "hx"
            got = ", ".join(f"{s.dim()}-D" for s in state)
            got = f"({got}) tensors" if two else f"{got} tensor"
            raise RuntimeError(f"For {kind} {rank}-D input, {names} should also be {rank}-D but got {got}")
        if not torch._C._is_any_autocast_enabled() and any(s.dtype != x.dtype for s in state):
            got = ", ".join(str(s.dtype) for s in state)
            raise RuntimeError(f"input and hx must have the same dtype, but got {x.dtype} and {got}")
        return tuple(s.unsqueeze(1) for s in state) if self.unbatched else state

    def sort(self, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """States of the caller's sequences in the order of their lengths, longest first."""
        order = None if self.packed is None else self.packed.sorted_indices
        return state if order is None else tuple(s.index_select(1, order) for s in state)

    def unsort(self, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """States in the order and form of the caller's sequences."""
        if self.unbatched:
            return tuple(s.squeeze(1) for s in state)
        order = None if self.packed is None else self.packed.unsorted_indices
        return state if order is None else tuple(s.index_select(1, order) for s in state)

r"""`RNN`, `LSTM`, `GRU`: torch.nn's modules with a normalization inside.

Constructor, call, shapes, state layout, parameter names and errors are those of `torch.nn`, from which the
classes inherit; what normalization adds stands behind the star.

==============  =======================================================  ==========================
parameter       what                                                     where
==============  =======================================================  ==========================
`gain_ih_l0`    gain of the input's projection, or of the sum ("joint")  layer, rms, weight
`gain_hh_l0`    gain of the state's projection                           "separate" gates, weight
`gain_cell_l0`  gain and bias of an LSTM's cell on its way to h          layer, rms
`bias_cell_l0`
`bias_inner_l0` bias inside the normalization of the input's projection  variant "released"
                (and `bias_inner_hh_l0`: of the state's)
==============  =======================================================  ==========================

`bias_ih_l0` and `bias_hh_l0` are the biases that the two normalizations add: after them, not before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from lnlib.normalize import weight_norm
from lnlib.rnn.cells import Cell, GRUCell, LSTMCell, ReLUCell, RNNCell, Variant, variant_of
from lnlib.rnn.convert import load_released, load_torch
from lnlib.rnn.recurrence import unroll

__all__ = ["GRU", "LSTM", "RNN"]

NORMS = ("layer", "rms", "weight", "none")


class _Normalized(nn.RNNBase):
    """What the three networks share: the norm's parameters, and the way from a batch to the loop over time."""

    cells: ClassVar[dict[str, type[Cell]]]

    def __init__(
        self,
        *args: Any,
        norm: str = "layer",
        variant: str | Variant = "paper",
        eps: float = 1e-5,
        **kwargs: Any,
    ):
        if norm not in NORMS:
            raise ValueError(f"norm is {norm!r}; use one of {', '.join(NORMS)}")
        if not 0 <= eps < float("inf"):
            raise ValueError(f"eps is {eps}; it is added to a variance, give a number >= 0")
        super().__init__(*args, **kwargs)
        self.norm, self.variant = norm, variant
        self._variant = variant_of(self.mode.partition("_")[0], variant, norm)
        self.eps = eps if self._variant.eps is None else self._variant.eps
        cell = self.cells[self.mode]
        for suffix in self._suffixes():
            for name, size in self._added(cell):
                self.register_parameter(name + suffix, nn.Parameter(self.weight_hh_l0.new_empty(size)))
        self.reset_parameters()

    def _suffixes(self) -> Iterator[str]:
        for layer in range(self.num_layers):
            for direction in ("", "_reverse")[: 1 + self.bidirectional]:
                yield f"_l{layer}{direction}"

    def _added(self, cell: type[Cell]) -> Iterator[tuple[str, int]]:
        """Names and sizes of what the norm adds to a layer."""
        rows, gates = cell.gates * self.hidden_size, self._variant.gates
        if self.norm == "weight" or gates != "none":
            yield "gain_ih", rows
        if self.norm == "weight" or gates == "separate":
            yield "gain_hh", rows
        if self._variant.inner_bias and self.bias:
            yield "bias_inner", rows
        if self._variant.inner_bias == "both" and self.bias:
            yield "bias_inner_hh", rows
        if self._variant.cell != "raw":
            yield "gain_cell", self.hidden_size
            if self.bias:
                yield "bias_cell", self.hidden_size

    def reset_parameters(self) -> None:
        """Weights as torch.nn's; gains 1 and biases 0; with weight norm or none, torch's function at the start."""
        super().reset_parameters()
        with torch.no_grad():
            for name, value in self.named_parameters():
                kind, _, layer = name.partition("_l")
                if kind in ("gain_ih", "gain_hh") and self.norm == "weight":
                    value.copy_(getattr(self, f"weight{kind[4:]}_l{layer}").norm(dim=1))
                elif kind.startswith("gain"):
                    value.fill_(1)
                elif kind.startswith("bias") and getattr(self, "norm", "none") in ("layer", "rms"):
                    value.zero_()

    def flatten_parameters(self) -> None:
        """Nothing to do: the loop reads the parameters where they are."""

    def extra_repr(self) -> str:
        """torch.nn's line, then the norm and, where it is not the paper's, the variant."""
        shown = f"{super().extra_repr()}, norm={self.norm}"
        plain = self.variant == "paper" or self.norm in ("none", "weight")
        return shown if plain else f"{shown}, variant={self.variant}"

    def _cell(self, suffix: str) -> Cell:
        # By name, not from named_parameters(): pruned or parametrized weights are attributes too.
        names = [name for name in self._flat_weights_names if name.endswith(suffix)]
        names += [name + suffix for name, _ in self._added(self.cells[self.mode])]
        p = {name.removesuffix(suffix): getattr(self, name) for name in names}
        if self.norm == "weight":
            for side in ("ih", "hh"):
                p[f"weight_{side}"] = weight_norm(p[f"weight_{side}"], p[f"gain_{side}"])
        return self.cells[self.mode](p, self._variant, self.norm, self.eps)

    def load_torch(self, module: nn.RNNBase) -> None:
        """Copy the weights of a torch.nn module: see :func:`lnlib.rnn.convert.load_torch`."""
        load_torch(self, module)

    def load_released(self, arrays: Mapping[str, Any] | str | Path) -> None:
        """Load the authors' published weights: see :func:`lnlib.rnn.convert.load_released`."""
        load_released(self, arrays)

    # --- from torch.nn's forms of input and state to sequences in the order of their lengths ------------

    def forward(self, input: Tensor | PackedSequence, hx: Any = None) -> tuple[Any, Any]:  # noqa: A002
        """Run all layers. Arguments and results as torch.nn's module of the same name."""
        packed = isinstance(input, PackedSequence)
        x, batch_sizes, order, back = input if packed else (input, None, None, None)
        if not packed and x.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {x.dim()}D instead")
        unbatched = not packed and x.dim() == 2
        time = 1 if self.batch_first else 0
        if unbatched:
            x = x.unsqueeze(1 - time)
        state = self._initial(x, batch_sizes, hx, unbatched)
        self.check_forward_args(x, state if len(state) > 1 else state[0], batch_sizes)
        if order is not None and hx is not None:
            state = tuple(s.index_select(1, order) for s in state)
        if packed:
            sizes = batch_sizes.tolist()
        else:
            x = x.transpose(0, time)
            steps, cases = x.shape[:2]
            x, sizes = x.flatten(0, 1), [cases] * steps
        out, state = self._layers(x, sizes, state)
        if packed:
            state = tuple(s if back is None else s.index_select(1, back) for s in state)
            output: Any = PackedSequence(out, batch_sizes, order, back)
        else:
            output = out.unflatten(0, (steps, cases)).transpose(0, time)
            if unbatched:
                output, state = output.squeeze(1 - time), tuple(s.squeeze(1) for s in state)
        return output, state if len(state) > 1 else state[0]

    def _initial(self, x: Tensor, batch_sizes: Tensor | None, hx: Any, unbatched: bool) -> tuple[Tensor, ...]:
        """The initial state as a tuple of (layers * directions, N, size)."""
        if hx is None:
            shapes = [self.get_expected_hidden_size(x, batch_sizes)]
            if self.mode == "LSTM":
                shapes.append(self.get_expected_cell_size(x, batch_sizes))  # type: ignore[attr-defined]
            return tuple(x.new_zeros(shape) for shape in shapes)
        two = self.mode == "LSTM"
        if two and (isinstance(hx, Tensor) or len(hx) != 2):
            raise RuntimeError("lstm expects two hidden states: give hx=(h, c), or None for zeros")
        state = tuple(hx) if two else (hx,)
        rank = 2 if unbatched else 3
        if batch_sizes is None and any(s.dim() != rank for s in state):
            kind, names = "unbatched" if unbatched else "batched", "hx and cx" if two else "hx"
            got = ", ".join(f"{s.dim()}-D" for s in state)
            got = f"({got}) tensors" if two else f"{got} tensor"
            raise RuntimeError(f"For {kind} {rank}-D input, {names} should also be {rank}-D but got {got}")
        if not torch._C._is_any_autocast_enabled() and any(s.dtype != x.dtype for s in state):
            got = ", ".join(str(s.dtype) for s in state)
            raise RuntimeError(f"input and hx must have the same dtype, but got {x.dtype} and {got}")
        return tuple(s.unsqueeze(1) for s in state) if unbatched else state

    def _layers(
        self, x: Tensor, sizes: list[int], state: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        final: list[tuple[Tensor, ...]] = []
        directions = 1 + self.bidirectional
        for index, suffix in enumerate(self._suffixes()):
            if index and index % directions == 0:
                x = torch.cat(outputs, -1)  # noqa: F821  the layer below
                x = nn.functional.dropout(x, self.dropout, self.training)
            if index % directions == 0:
                outputs: list[Tensor] = []
            start = tuple(s[index] for s in state)
            out, last = unroll(self._cell(suffix), x, sizes, start, reverse=index % directions == 1)
            outputs.append(out)
            final.append(last)
        return torch.cat(outputs, -1), tuple(torch.stack(s) for s in zip(*final, strict=True))


class RNN(_Normalized, nn.RNN):
    r"""An Elman network, its summed inputs normalized: Eq. (4). Arguments as `torch.nn.RNN`, then norm and eps."""

    cells: ClassVar = {"RNN_TANH": RNNCell, "RNN_RELU": ReLUCell}


class LSTM(_Normalized, nn.LSTM):
    r"""A layer-normalized LSTM: Eqs. (20)-(22). Arguments as `torch.nn.LSTM`, then norm, variant and eps.

    >>> lstm = LSTM(5, 4, num_layers=2)
    >>> output, (h, c) = lstm(torch.zeros(7, 3, 5))
    >>> output.shape, h.shape, c.shape
    (torch.Size([7, 3, 4]), torch.Size([2, 3, 4]), torch.Size([2, 3, 4]))
    """

    cells: ClassVar = {"LSTM": LSTMCell}


class GRU(_Normalized, nn.GRU):
    r"""A layer-normalized GRU: Eqs. (26)-(28). Arguments as `torch.nn.GRU`, then norm, variant and eps."""

    cells: ClassVar = {"GRU": GRUCell}

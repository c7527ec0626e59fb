r"""Recurrent networks whose weight matrices are stored as int8, for inference.

A matrix is held as integers from -127 to 127 and one float32 scale a row. All else stays as it is: gains,
biases, initial states, running statistics, and every activation.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

import torch
from jaxtyping import Float, Float32, Int8
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from lnlib.rnn.network import Normalized

__all__ = ["Quantized", "quantized"]

LEVELS = 127  # on either side of 0
SCALES = torch.finfo(torch.float32)


def quantized(network: nn.Module) -> Quantized:
    r"""A copy of an `LSTM`, `GRU` or `RNN` for inference that stores its weight matrices as int8.

    $w_{ij} \approx s_i q_{ij}$ with integers $q_{ij} = \mathrm{round}(w_{ij}/s_i)$ from -127 to 127 and one
    float32 scale a row, $s_i = \max_j |w_{ij}|/127$. Between calls and in files that is a quarter of float32.
    It saves no time: every call first makes the float weights anew, which are there while it runs. Short
    calls are slower for it; for many in succession keep what :meth:`Quantized.dequantized` returns.

    As in torch.ao.nn.quantized.dynamic, integers are symmetric, and inputs, outputs and biases are floats.
    Other than by default there, a scale belongs to a row, not to a matrix, and activations are not quantized:
    the output is that of a float network with slightly different weights, to first order off by at most
    $\sum_{ij} |\partial y/\partial w_{ij}|\, s_i/2$.

    With eps = 0, layer and RMS norm do not see a scale that all rows share: of each matrix by itself with
    "separate" gates, of both together with "joint" ones, unless a bias is added inside. One scale for each
    matrix would not have to be stored. They do see scales that differ between rows, which are stored here;
    weight norm sees neither.

    *Source* ours; a scale a row as in torch.ao's per_channel_dynamic_qconfig.

    Args:
        network: in float64, float32, bfloat16 or float16, in any mode; it is left as it is.

    Raises:
        TypeError: `network` is none of lnlib.rnn's, or has modules of its own.
        ValueError: its parameters are pruned or parametrized; a weight is not finite, or a row so small or
            large that float32 has no scale for it.

    >>> import torch
    >>> from lnlib.rnn import LSTM
    >>> small = quantized(LSTM(5, 4))
    >>> small.weight_ih_l0_int8.dtype, small.weight_ih_l0_scale.shape
    (torch.int8, torch.Size([16, 1]))
    >>> output, (h, c) = small(torch.zeros(7, 3, 5))
    >>> output.shape
    torch.Size([7, 3, 4])
    """
    if not isinstance(network, Normalized):
        raise TypeError(
            f"network is a {type(network).__name__}, and what is quantized is an LSTM, GRU or RNN of "
            f"lnlib.rnn; one with norm='none' takes a torch.nn module's weights by load_torch"
        )
    spec, tensors = network.spec, _tensors(network)
    names = [name + suffix for suffix in spec.suffixes for name in spec.plain]
    if hidden := [name for name in names if name not in tensors]:
        raise ValueError(f"{hidden} of network are pruned or parametrized; make them plain parameters first")
    if own := [name for name, _ in network.named_children()]:
        raise TypeError(f"network has modules of its own, {own}; quantize the recurrent networks among them")
    return Quantized(network, tuple(name for name in names if name.startswith("weight")))


class Quantized(nn.Module):
    """What `quantized` returns: called as the network is, in evaluation.

    For `weight_ih_l0` its `state_dict` has `weight_ih_l0_int8`, (G, D), and `weight_ih_l0_scale`, (G, 1);
    all else by the network's names. It loads into what `quantized` makes of any network built alike.

    Args:
        network: what to store.
        matrices: names of the parameters to store as int8.
    """

    _empty: Normalized

    def __init__(self, network: Normalized, matrices: tuple[str, ...]) -> None:
        super().__init__()
        tensors = _tensors(network)
        self.matrices, self.dtype = matrices, tensors[matrices[0]].dtype
        for name, value in tensors.items():
            if name in matrices:
                whole, scale = rounded(name, value.detach())
                self.register_buffer(f"{name}_int8", whole)
                self.register_buffer(f"{name}_scale", scale)
            else:
                self.register_buffer(name, value.detach().clone())
        empty = {name: value.detach().to("meta") for name, value in tensors.items()}
        self.__dict__["_empty"] = _holding(network, empty).eval()  # not a submodule: it has no numbers
        self.eval()

    def extra_repr(self) -> str:
        """The network."""
        return repr(self._empty)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Quantized:
        """Move; but a conversion would round the scales, and make floats of what its dtype is rounded for."""
        device = next(self.buffers()).device
        if (dtype := fn(torch.empty(0, dtype=self.dtype, device=device)).dtype) != self.dtype:
            raise TypeError(
                f"this network was quantized in {self.dtype}, and stays so; "
                f"convert the float network to {dtype} and quantize that"
            )
        wide = {name: value for name, value in self.named_buffers() if value.dtype != self.dtype}
        super()._apply(fn, recurse)
        for name, value in wide.items():
            if (now := self.get_buffer(name)).dtype != value.dtype:
                setattr(self, name, value.to(now.device))
        return self

    def forward(
        self,
        input: Tensor | PackedSequence,
        hx: Any = None,
        *,
        reset: Tensor | None = None,
        return_cells: bool = False,
    ) -> tuple[Any, ...]:
        """Run all layers: arguments and results as the network's.

        Raises RuntimeError in training mode, and where a gradient would be needed.
        """
        if self.training:
            raise RuntimeError(
                "int8 weights are for inference, and this network is in training mode; call eval() first"
            )
        given = (input, *hx) if isinstance(hx, (tuple, list)) else (input, hx)
        if torch.is_grad_enabled() and any(getattr(t, "requires_grad", False) for t in map(_numbers, given)):
            raise RuntimeError(
                "int8 weights are for inference, and the input or hx requires a gradient; "
                "call it under torch.no_grad(), or differentiate dequantized()"
            )
        return self.dequantized()(input, hx, reset=reset, return_cells=return_cells)

    def dequantized(self) -> Any:
        """The float network that this one computes: in evaluation, its parameters not to be trained.

        >>> from lnlib.rnn import GRU
        >>> quantized(GRU(5, 4, norm="rms")).dequantized()
        GRU(5, 4, norm=rms)
        """
        values = dict(self.named_buffers())
        for name in self.matrices:
            whole, scale = values.pop(f"{name}_int8"), values.pop(f"{name}_scale")
            wide = scale.to(torch.promote_types(self.dtype, scale.dtype))
            values[name] = (whole * wide).to(self.dtype)
        return _holding(self._empty, values)


def rounded(name: str, weight: Float[Tensor, "G D"]) -> tuple[Int8[Tensor, "G D"], Float32[Tensor, "G 1"]]:
    """Integers and the scale of each row; 1 for a row of zeros. Errors as :func:`quantized` says."""
    if not (finite := weight.isfinite()).all():
        row, column = (~finite).nonzero()[0].tolist()
        value = weight[row, column].item()
        raise ValueError(f"weights must be finite to be rounded, and {name}[{row}, {column}] is {value}")
    largest = weight.abs().amax(1, keepdim=True).double()
    scale = torch.where(largest == 0, 1.0, largest / LEVELS)
    if (off := (scale < SCALES.tiny) | (scale > SCALES.max)).any():
        row = int(off.nonzero()[0, 0])
        raise ValueError(
            f"the largest weight of {name}[{row}] is {largest[row].item():.3g}, and divided by {LEVELS} it "
            f"must be a normal number of float32, {SCALES.tiny:.3g} to {SCALES.max:.3g}; scale the row"
        )
    scale = scale.float()
    return (weight / scale.double()).round().to(torch.int8), scale


def _numbers(given: Any) -> Any:
    return given.data if isinstance(given, PackedSequence) else given


def _tensors(network: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers, those that two layers share under both names."""
    parameters = network.named_parameters(remove_duplicate=False)
    return {**dict(parameters), **dict(network.named_buffers(remove_duplicate=False))}


def _holding(network: Normalized, values: Mapping[str, Tensor]) -> Normalized:
    """A copy of a network that holds these tensors in place of its own."""
    memo: dict[int, Any] = {}  # what deepcopy is to take for what it finds
    for name, tensor in _tensors(network).items():
        parameter = isinstance(tensor, nn.Parameter)
        memo[id(tensor)] = nn.Parameter(values[name], requires_grad=False) if parameter else values[name]
    return copy.deepcopy(network, memo)

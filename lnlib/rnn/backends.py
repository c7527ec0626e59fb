r"""Which code runs a recurrence: compiled kernels on the CPU where they apply, otherwise the plain path.

=======  =================================================================  =================================
backend  what                                                               when
=======  =================================================================  =================================
numba    :mod:`lnlib.rnn.kernels`: whole sequences in one compiled loop     float32 on the CPU; LSTM and GRU,
                                                                            variants paper and released,
                                                                            norms layer and rms, no option
                                                                            that acts inside the loop
torch    torch.nn's own module                                              norm "none", no such option
plain    :mod:`lnlib.rnn.recurrence`: torch operations step by step         everything else
=======  =================================================================  =================================
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _get_current_dispatch_mode  # noqa: PLC2701

from lnlib.rnn.cells import Cell, GRUCell, LSTMCell
from lnlib.rnn.config import Config
from lnlib.rnn.variants import VARIANTS

__all__ = ["Backend", "plain", "watching", "why_not_compiled", "why_not_torch"]

SMALLEST_EPS = 1e-30  # float32 holds its sum with any variance
COMPILED = {
    LSTMCell: {VARIANTS["LSTM"]["paper"], replace(VARIANTS["LSTM"]["released"], eps=None)},
    GRUCell: {VARIANTS["GRU"]["paper"], replace(VARIANTS["GRU"]["released"], eps=None)},
}
# torch.compile's callback while it observes this thread, else None. Call it inline: torch.compile would
# compile a helper that called it. (torch 2.6 may not have it.)
watching = getattr(torch._C._dynamo.eval_frame, "get_eval_frame_callback", lambda: None)
_plain: ContextVar[bool] = ContextVar("plain", default=False)


class Backend(NamedTuple):
    """The code that a network runs on, and why not on faster code."""

    name: str
    reason: str


@contextmanager
def plain() -> Iterator[None]:
    """Run networks on the plain path inside: to compare, to debug, or for norm "none" to differentiate twice.

    >>> from lnlib.rnn import LSTM, backend, plain
    >>> with plain():
    ...     backend(LSTM(2, 3))
    Backend(name='plain', reason='lnlib.rnn.plain() is active')
    """
    token = _plain.set(True)
    try:
        yield
    finally:
        _plain.reset(token)


def why_not_torch(config: Config, proj_size: int) -> str:
    """Why a network without a norm cannot be left to torch.nn; "" if it can."""
    if config.rates or config.recurrent_dropout:
        return "zoneout and dropout inside the loop are the plain path's"
    if config.memory == "recompute":
        return "torch.nn keeps everything for the backward pass"
    if config.kind == "LSTM" and not proj_size and torch.is_autocast_enabled("cpu"):
        half = torch.get_autocast_dtype("cpu")  # autocast leaves torch.nn's LSTM to oneDNN
        name = "_is_mkldnn_fp16_supported" if half == torch.float16 else "_is_mkldnn_bf16_supported"
        if not getattr(torch.ops.mkldnn, name, lambda: False)():
            return f"this processor has no LSTM in {half}, autocast's type"
    return _outside()


def why_not_compiled(cell: Cell, x: Tensor, state: tuple[Tensor, ...], cells: bool = False) -> str:
    """Why the compiled kernels do not apply; "" if they do."""
    variants = COMPILED.get(type(cell), ())
    if cell.norm not in ("layer", "rms") or replace(cell.variant, eps=None) not in variants:
        return "the kernels are for LSTM and GRU, variants paper and released, norms layer and rms"
    if cell.zoneout or cell.drop or cells or "weight_hr" in cell.p:
        return "proj_size, zoneout, dropout inside the loop and return_cells are the plain path's"
    if cell.eps < SMALLEST_EPS:
        return f"eps is {cell.eps}; the kernels need {SMALLEST_EPS} or more"
    for tensor in (x, *state, *cell.p.values()):
        if not tensor.is_cpu:
            return f"the weights are {tensor.device}; the kernels are float32 on the CPU"
        if tensor.dtype != torch.float32:
            return f"the weights are {tensor.dtype}; the kernels are float32"
        if type(tensor) not in (Tensor, nn.Parameter) or tensor.layout != torch.strided:
            return f"the kernels take plain tensors, not a {type(tensor).__name__} of layout {tensor.layout}"
    if reason := _outside() or ("autocast is active" if torch._C._is_any_autocast_enabled() else ""):
        return reason
    return "" if _numba() else "numba is not installed or is disabled: pip install 'lnlib[fast]'"


@cache
def _numba() -> bool:
    try:
        import numba  # a numba that is there may refuse the NumPy that is there
    except ImportError:
        return False
    return not getattr(numba.config, "DISABLE_JIT", False)


def _outside() -> str:
    """What in the surroundings needs to see every operation; "" for nothing."""
    if torch.compiler.is_compiling() or torch.jit.is_tracing() or torch.onnx.is_in_onnx_export():
        return "torch is compiling, tracing or exporting"
    if _plain.get():
        return "lnlib.rnn.plain() is active"
    if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
        return "a transform of torch.func or forward-mode differentiation is active"
    if _get_current_dispatch_mode() is not None:
        return "a torch dispatch mode is active"
    return ""

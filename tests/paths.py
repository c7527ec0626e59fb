"""The ways in which `lnlib.rnn` computes, and how close each comes to exact arithmetic."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import torch

from lnlib.rnn import plain

PATHS: dict[str, Callable[[], AbstractContextManager[None]]] = {"chosen": nullcontext, "plain": plain}


class Way(NamedTuple):
    """Code and precision: `with way.path():` on tensors of its dtype."""

    path: Callable[[], AbstractContextManager[None]]
    dtype: torch.dtype
    close: dict[str, float]


# In single precision a network chooses the compiled kernels where they apply. Both ways round a few dozen
# times a step, by 2**-24 or 2**-53 of numbers of size 1 to 10: a thousand roundings are the tolerance.
WAYS = {
    "chosen single": Way(nullcontext, torch.float32, {"rtol": 1e-4, "atol": 1e-4}),
    "plain double": Way(plain, torch.float64, {"rtol": 1e-12, "atol": 1e-12}),
}

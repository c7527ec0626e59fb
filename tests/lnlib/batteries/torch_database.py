"""PyTorch's own test inputs: its lists of modules and operators, each with samples and wrong calls.

They are part of every torch, under `torch.testing._internal`, which imports `expecttest` for a base class of
test cases alone. Where that is not installed, unittest's own base class stands for it: no test case is used.
"""

import os
import sys
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from types import ModuleType
from typing import Any
from unittest.mock import patch

import torch

FROZEN = "__allow_nonbracketed_mutation_flag"


@contextmanager
def _importable() -> Iterator[None]:
    """Undo what the import does to a process: it locks torch's switches and sets environment variables."""
    switches, stand_in = getattr(torch.backends, FROZEN), find_spec("expecttest") is None
    if stand_in:
        sys.modules["expecttest"] = ModuleType("expecttest")
        sys.modules["expecttest"].TestCase = unittest.TestCase  # type: ignore[attr-defined]
    try:
        with patch.dict(os.environ):
            yield
    finally:
        setattr(torch.backends, FROZEN, switches)
        if stand_in:
            del sys.modules["expecttest"]


@cache
def modules() -> dict[str, Any]:
    """A ModuleInfo by the name of its class, such as "nn.LSTM"."""
    with _importable():
        from torch.testing._internal.common_modules import module_db
    return {info.name: info for info in module_db}


@cache
def operators() -> dict[str, Any]:
    """An OpInfo by the name of its function, such as "nn.functional.layer_norm"; of variants the first."""
    with _importable():
        from torch.testing._internal.common_methods_invocations import op_db
    return {info.name: info for info in reversed(op_db)}


def module_samples(name: str, dtype: torch.dtype, training: bool) -> list[Any]:
    """Constructor and forward arguments, the same each time."""
    torch.manual_seed(0)
    info = modules()[name]
    wanted = {"device": "cpu", "dtype": dtype, "requires_grad": True, "training": training}
    return list(info.module_inputs_func(info, **wanted))


def module_errors(name: str, dtype: torch.dtype) -> list[Any]:
    """Arguments that the constructor or forward refuses; none where torch lists none."""
    info = modules()[name]
    wanted = {"device": "cpu", "dtype": dtype, "requires_grad": False, "training": True}
    return list(info.module_error_inputs_func(info, **wanted)) if info.module_error_inputs_func else []


def text(args: Any, kwargs: dict[str, Any]) -> str:
    """Arguments in words, a tensor as its shape: "((0, 5), eps=0.5)"."""

    def show(value: Any) -> str:
        return str(tuple(value.shape)) if isinstance(value, torch.Tensor) else repr(value)

    return f"({', '.join([*map(show, args), *(f'{k}={show(v)}' for k, v in kwargs.items())])})"

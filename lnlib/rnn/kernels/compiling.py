"""How numba compiles the kernels, where it keeps them, and who may run them at the same time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any

import numba
from numba import njit

__all__ = ["INLINE", "OPTIONS", "compiled"]

# Without "nnan" and "ninf": NaN and infinity count.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
INLINE = {**OPTIONS, "forceinline": True}  # a call would cost as much as a short row

_turn = Lock()


def compiled(loop: Any, parallel: bool = False) -> Callable[..., None]:
    """The loop as machine code for one thread, without a thread pool, or for many; also as a decorator.

    Numba keeps it on disk where there is a place for it, and looks for changes in the file of the loop alone:
    the name has a digest of all the code in the kernel.
    """
    name = f"{loop.__name__}{'_parallel' * parallel}_{_digest(Path(loop.__code__.co_filename))}"
    named = FunctionType(loop.__code__, loop.__globals__, name)
    named.__qualname__, named.__module__ = name, loop.__module__
    kernel = njit(parallel=parallel, **OPTIONS)(named)
    with suppress(RuntimeError, OSError):  # neither beside the file nor in the user's cache may one write
        kernel.enable_caching()
    return _by_turns(kernel) if parallel else kernel


def _digest(file: Path) -> str:
    """Of the file of a loop and of all files of this package, whose functions it calls."""
    files = {file, *Path(__file__).parent.glob("*.py")}
    contents = (path.read_bytes() for path in sorted(files) if path.is_file())
    return hashlib.sha256(b"".join(contents)).hexdigest()[:8]


def _by_turns(kernel: Callable[..., None]) -> Callable[..., None]:
    """The kernel for many threads, in turns where numba's pool, "workqueue", ends a process otherwise."""

    @wraps(kernel)
    def run(*arguments: Any) -> None:
        if _pool() not in ("", "workqueue"):
            return kernel(*arguments)
        with _turn:
            return kernel(*arguments)

    return run


def _pool() -> str:
    """Numba's pool of threads; "" before the first parallel call, which chooses it."""
    try:
        return str(numba.threading_layer())
    except ValueError:
        return ""

"""How numba compiles the kernels, where it keeps them, and who may run them at the same time."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any

import numba
from numba import njit
from numba.core.caching import FunctionCache

__all__ = ["INLINE", "OPTIONS", "compiled"]

# Without "nnan" and "ninf": NaN and infinity count.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
INLINE = {**OPTIONS, "forceinline": True}  # a call would cost as much as a short row

_turn = Lock()


def compiled(loop: Any, parallel: bool = False) -> Callable[..., None]:
    """The loop as machine code for one thread, without a thread pool, or for many; also as a decorator.

    What was compiled is kept on disk. If there is no place for it, or none left, it is compiled anew in each
    process, which the second case warns of once; what cannot be read is written again. Numba looks for
    changes in the file of the loop alone, by its date: the name has a digest of all the code in the kernel.
    """
    name = f"{loop.__name__}{'_parallel' * parallel}_{_digest(Path(loop.__code__.co_filename))}"
    named = FunctionType(loop.__code__, loop.__globals__, name)
    named.__qualname__, named.__module__ = name, loop.__module__
    kernel = njit(parallel=parallel, **OPTIONS)(named)
    with suppress(RuntimeError, OSError):  # neither beside the file nor in the user's cache may one write
        kernel._cache = _Kept(named)
    return _by_turns(kernel) if parallel else kernel


def _digest(file: Path) -> str:
    """Of the file of a loop and of all files of this package, whose functions it calls."""
    files = {file, *Path(__file__).parent.glob("*.py")}
    contents = (path.read_bytes() for path in sorted(files) if path.is_file())
    return hashlib.sha256(b"".join(contents)).hexdigest()[:8]


class _Kept(FunctionCache):
    """Numba's cache, no trouble of which stops anyone: it saves time, and nothing depends on it."""

    warned = False

    def load_overload(self, *key: Any) -> Any:
        try:
            return super().load_overload(*key)
        except Exception:  # of a damaged file, whatever its bytes say
            self._try(self.flush)
            return None

    def save_overload(self, *entry: Any) -> None:
        self._try(super().save_overload, *entry)

    def _try(self, write: Callable[..., None], *arguments: Any) -> None:
        try:
            write(*arguments)
        except Exception as error:
            if not _Kept.warned:
                _Kept.warned = True
                warnings.warn(
                    f"compiled kernels cannot be kept in {self.cache_path} ({error}), so that each process "
                    f"compiles them anew; make room there, or name another folder in NUMBA_CACHE_DIR",
                    RuntimeWarning,
                    stacklevel=2,
                )


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

"""How numba compiles the kernels, and where it keeps them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import FunctionType
from typing import Any

from numba import njit

__all__ = ["INLINE", "OPTIONS", "compiled"]

_files = sorted(Path(__file__).parent.glob("*.py"))
SOURCES = hashlib.sha256(b"".join(path.read_bytes() for path in _files)).hexdigest()[:8]

# Without "nnan" and "ninf": NaN and infinity count.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
INLINE = {**OPTIONS, "forceinline": True}  # a call would cost as much as a short row


def compiled(loop: Any) -> tuple[Any, Any]:
    """The loop for one thread, without a thread pool, and for many; kept on disk if there is a place for it.

    Numba looks for changes in the file of the loop alone, which calls functions of all these files: the name
    under which it is kept has a digest of them.
    """
    versions = []
    for suffix, parallel in (("", False), ("_parallel", True)):
        version = FunctionType(loop.__code__, loop.__globals__, f"{loop.__name__}{suffix}_{SOURCES}")
        version.__qualname__, version.__module__ = version.__name__, loop.__module__
        try:
            versions.append(njit(cache=True, parallel=parallel, **OPTIONS)(version))
        except RuntimeError:  # neither beside this file nor in the user's cache may one write
            versions.append(njit(parallel=parallel, **OPTIONS)(version))
    return versions[0], versions[1]

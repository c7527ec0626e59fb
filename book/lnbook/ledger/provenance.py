"""How a number came about: commit, versions, machine, threads, data and date."""

import contextlib
import datetime
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from typing import Any

import numpy

from lnbook import data
from lnbook.ledger.rows import book_dir

_started = time.perf_counter()


def provenance(**facts: Any) -> dict[str, Any]:
    """The facts of this process that a stored number needs beside it, and what the caller adds.

    `seconds` counts from the import of this module, and `device` is a GPU only if the process has used it.
    """
    torch = sys.modules.get("torch")  # its import takes seconds, and a notebook may not need it
    return {
        "commit": _commit(),
        "lnlib": version("lnlib"),
        "python": platform.python_version(),
        "torch": version("torch"),
        "numpy": numpy.__version__,
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads() if torch else 1,
        "device": torch.cuda.get_device_name() if torch and torch.cuda.is_initialized() else "cpu",
        "date": datetime.date.today().isoformat(),
        "data": data.loaded(),
        "seconds": round(time.perf_counter() - _started, 2),
    } | facts


def _commit() -> str:
    """The checkout's commit, with '+' if files but recorded rows differ; 'unknown' outside a checkout."""
    book = book_dir()
    if book is None:  # installed: a repository around the environment is somebody else's
        return "unknown"

    def git(*arguments: str) -> str:
        return subprocess.check_output(["git", *arguments], cwd=book, text=True, stderr=subprocess.DEVNULL)

    try:
        commit = git("describe", "--always", "--abbrev=12", "--exclude=*").strip()
        changed = git("diff", "HEAD", "--name-only", "--", ":/", ":(top,exclude)book/results")
        return commit + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _cpu() -> str:
    """The processor's name, which Linux says in a file and other systems by `platform`."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()

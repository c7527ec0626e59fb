"""The small experiment as a command."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from small import EXPERIMENT, Command

from lnbook.__main__ import main
from lnbook.cli import run as command


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """`python -m lnbook run small --scale smoke --processes 1` with options, in this process."""
    monkeypatch.setattr(command, "find", lambda name: EXPERIMENT)
    monkeypatch.setenv("FAULT", "none 0")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)

    def started(*options: Any) -> int:
        words = ["run", "small", "--scale", "smoke", "--processes", "1", *map(str, options)]
        return main(words)

    yield started
    torch.set_num_threads(threads)

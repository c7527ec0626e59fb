"""The small experiment as a command."""

from collections.abc import Iterator
from typing import Any

import pytest
from small import EXPERIMENT, Command

from lnbook.__main__ import main
from lnbook.cli import run as command
from lnbook.training import torch_threads


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """`python -m lnbook run small --scale smoke` with options, in this process."""
    monkeypatch.setattr(command, "find", lambda name: EXPERIMENT)
    monkeypatch.setattr("lnbook.ledger.provenance._commit", lambda: "a1b2")  # whoever tests edits, too

    def started(*options: Any) -> int:
        return main(["run", "small", "--scale", "smoke", *map(str, options)])

    with torch_threads(1):
        yield started

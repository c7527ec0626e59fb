"""The small experiment as a command."""

import functools
from collections.abc import Iterator
from typing import Any

import pytest
from small import EXPERIMENT, Command

from lnbook.__main__ import main
from lnbook.cli import run as command
from lnbook.training import torch_threads, train


@pytest.fixture
def each_update(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint after each update, not each minute."""
    monkeypatch.setattr("lnbook.training.runs.train", functools.partial(train, every_seconds=0))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    """`python -m lnbook run small --scale smoke` with options, in this process."""
    monkeypatch.setattr(command, "find", lambda name: EXPERIMENT)
    monkeypatch.setattr("lnbook.ledger.provenance._commit", lambda: "a1b2")  # whoever tests edits, too

    def started(*options: Any) -> int:
        return main(["run", "small", "--scale", "smoke", *map(str, options)])

    with torch_threads(1):
        yield started

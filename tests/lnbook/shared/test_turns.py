"""What an update costs: tasks take turns."""

from itertools import repeat
from unittest.mock import Mock

import numpy as np
import pytest

from lnbook.shared import turns
from lnbook.training import Task


def test_tasks_take_turns_and_the_first_round_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = {name: Mock(spec=Task, model=None, batches=repeat(())) for name in "ab"}
    log: list[str] = []
    monkeypatch.setattr(turns, "step", lambda task, *_: log.append("a" if task is tasks["a"] else "b"))
    times = turns.seconds(tasks, rounds=3, updates=2)
    assert log == ["a", "a", "b", "b"] * 4
    assert {name: len(t) for name, t in times.items()} == {"a": 3, "b": 3}
    taken = {"a": np.array([0.001, 0.002, 0.009]), "b": np.array([0.002, 0.004, 0.009])}
    shown = turns.table(taken, {"a": "A", "b": "B"})
    assert shown.rows == [["A", "2.0", "1.00"], ["B", "4.0", "2.00"]]  # quotients of the same rounds

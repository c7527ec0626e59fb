"""What every test of lnbook starts from: a process that has read no data."""

import pytest


@pytest.fixture(autouse=True)
def nothing_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty record of what was read, so that no test depends on those that ran before it."""
    monkeypatch.setattr("lnbook.data.sources._loaded", [])

"""What every test of lnbook starts from: a process that has read no data."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def nothing_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty record of what was read, so that no test depends on those that ran before it."""
    monkeypatch.setattr("lnbook.data.sources._loaded", [])


@pytest.fixture
def nothing_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data of the user's, an empty cache, and no network."""
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")

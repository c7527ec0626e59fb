"""What is known to be wrong is said before any page runs; a path means what it meant where it was typed."""

import os
import subprocess
from pathlib import Path
from unittest.mock import Mock

import preflight
import pytest
from sphinx.errors import ExtensionError
from test_schedule import write

from lnbook.data import DataError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data, an empty cache, downloads off."""
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return write(tmp_path / "page.ipynb", "1", data=["mnist", "digits", "sick"])


def test_what_is_wrong_is_said_and_nothing_runs(page, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ExtensionError, match="nowhere"):
        preflight.made_ready([page], "book", pytest.fail)


def test_without_data_a_build_goes_on_says_so_and_keeps_its_pages_off_the_network(page, monkeypatch) -> None:
    monkeypatch.setenv("LNLIB_OFFLINE", "0")
    fetch = Mock(side_effect=DataError("no route"))
    monkeypatch.setattr(preflight, "fetch", fetch)
    said: list[str] = []
    preflight.made_ready([page], "smoke", said.append)
    assert not fetch.called
    monkeypatch.setenv("LNLIB_OFFLINE", "0")
    preflight.made_ready([page], "book", said.append)
    fetch.assert_called_once_with("mnist")  # the licence of SICK is for a user to accept
    assert said[-1].startswith("data: without mnist; the pages")
    assert os.environ["LNLIB_OFFLINE"] == "1"


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"MAKEFLAGS": ""}  # of the make that may run the tests
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )


def test_make_looks_for_data_where_a_relative_path_was_typed() -> None:
    assert f"LNLIB_DATA := {ROOT}/real data\n" in make("-pn", "help", "LNLIB_DATA=real data").stdout


@pytest.mark.parametrize(
    ("wrong", "message"), [("LNLIB_DATA=../nowhere", "nowhere"), ("SCALE=bok", "smoke or book")]
)
def test_make_refuses_what_cannot_be_before_it_installs_anything(wrong: str, message: str) -> None:
    done = make("ready-to-build", wrong)
    assert done.returncode != 0
    assert message in done.stderr

"""The environment variables of the data: what they may say, and that a folder is the one that was typed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lnbook import data
from lnbook.__main__ import main
from lnbook.data import DataError, environment, resolve_environment


@pytest.mark.parametrize("word", ["1", "true", "yes", "on", "TRUE", " Yes "])
def test_a_yes_forbids_the_network(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("LNLIB_OFFLINE", word)
    assert environment.is_offline()


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "", "False", "OFF", " "])
def test_a_no_allows_it(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("LNLIB_OFFLINE", word)
    assert not environment.is_offline()


def test_unset_allows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LNLIB_OFFLINE", raising=False)
    assert not environment.is_offline()


@pytest.mark.parametrize("word", ["2", "maybe", "offline", "tru", "-1"])
def test_any_other_word_is_an_error_that_names_those_that_mean_something(
    monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("LNLIB_OFFLINE", word)
    with pytest.raises(DataError, match=rf"'{word}'.* 1, true, yes, on .* 0, false, no, off or to nothing"):
        environment.is_offline()


@pytest.mark.parametrize("variable", ["LNLIB_DATA", "LNLIB_CACHE"])
def test_a_relative_folder_becomes_absolute_where_it_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    (tmp_path / "book").mkdir()
    monkeypatch.chdir(tmp_path / "book")
    for typed, meant in (
        ("data", "book/data"),
        ("../data", "book/../data"),
        (".", "book"),
        ("/data", "/data"),
    ):
        monkeypatch.setenv(variable, typed)
        resolve_environment()
        assert os.environ[variable] == str(tmp_path / meant)
        monkeypatch.chdir(tmp_path)
        resolve_environment()
        assert os.environ[variable] == str(tmp_path / meant)
        monkeypatch.chdir(tmp_path / "book")


def test_what_is_unset_or_empty_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", "")
    resolve_environment()
    assert "LNLIB_DATA" not in os.environ
    assert os.environ["LNLIB_CACHE"] == ""


def test_the_command_line_resolves_before_its_command_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def command(_: object) -> int:
        monkeypatch.chdir("/")
        seen.extend([os.environ["LNLIB_DATA"], os.environ["LNLIB_CACHE"]])
        return 0

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LNLIB_DATA", "mine")
    monkeypatch.setenv("LNLIB_CACHE", "kept")
    monkeypatch.setitem(sys.modules["lnbook.__main__"].COMMANDS, "data", (command, ""))
    assert main(["data"]) == 0
    assert seen == [str(tmp_path / "mine"), str(tmp_path / "kept")]


def test_the_command_shows_the_absolute_folder_that_is_not_there(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lnbook", "data", "mnist"],
        cwd=tmp_path,
        env=os.environ
        | {
            "LNLIB_DATA": "gone",
            "PYTHONPATH": os.pathsep.join(str(Path(data.__file__).parents[k]) for k in (2, 3)),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert f"LNLIB_DATA is '{tmp_path / 'gone'}', and there is no folder {tmp_path / 'gone'}." in done.stderr
    assert "unusable" in done.stdout


def test_a_users_folder_that_may_not_be_looked_at_is_an_error_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied")  # chmod would not stop root

    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    monkeypatch.setattr(Path, "is_dir", forbidden)
    with pytest.raises(DataError, match=rf"{tmp_path} cannot be looked at \(Permission denied\)"):
        data.find("mnist")


def test_a_users_folder_that_is_a_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").write_text("not a folder")
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "data"))
    with pytest.raises(DataError, match=f"there is no folder {tmp_path / 'data'}"):
        data.find("mnist")

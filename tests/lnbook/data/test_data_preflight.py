"""What is said about data sets before anything is computed: where each comes from and what is wrong."""

import dataclasses
import gzip
import hashlib
import os
import socket
from pathlib import Path

import pytest

from lnbook import data
from lnbook.data import DataError, DataSet, Finding, PublishedFile

USERS_FOLDER = os.environ.get("LNLIB_DATA", "")
FILES = {"a.bin": b"a" * 100, "b.bin": b"b" * 2_000_000}
WHOLE = {"whole.bin": b"c" * 50}
DOWNLOAD = "download of 2.0 MB or stand-in digits"


def _published(files: dict[str, bytes]) -> tuple[PublishedFile, ...]:
    return tuple(PublishedFile(n, hashlib.sha256(body).hexdigest(), len(body)) for n, body in files.items())


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataSet:
    """A data set of two files, or one that holds both; no data, an empty cache, and a network never asked."""

    def network(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", network)
    monkeypatch.setattr(socket, "getaddrinfo", network)
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.delenv("LNLIB_OFFLINE", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    entry = DataSet(
        "small", "", _published(FILES), ("http://127.0.0.1:9/",), "CC0", "", "digits", _published(WHOLE)
    )
    monkeypatch.setitem(data.DATA_SETS, "small", entry)
    return entry


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of the data set, still empty."""
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    return tmp_path / "users" / "small"


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, body in files.items():
        (folder / name).write_bytes(body)
    return folder


def finding() -> Finding:
    (found,) = data.readiness(["small"])
    return found


def test_whole_files_are_ready_wherever_they_are(users: Path, tmp_path: Path) -> None:
    users.mkdir(parents=True)
    write(tmp_path / "cache" / "small", FILES)
    assert finding() == Finding("small", "cache")
    write(users, FILES)
    assert finding() == Finding("small", "LNLIB_DATA")


def test_an_alternative_or_a_packed_file_is_ready_too(users: Path) -> None:
    write(users, WHOLE)
    assert finding() == Finding("small", "LNLIB_DATA")
    (users / "whole.bin").unlink()
    write(users, {f"{name}.gz": gzip.compress(body) for name, body in FILES.items()})
    assert finding() == Finding("small", "LNLIB_DATA")


def test_every_data_set_has_its_finding_in_the_order_asked() -> None:
    names = list(data.DATA_SETS)
    found = data.readiness(names)
    assert [each.name for each in found] == names
    for each in found:
        entry = data.data_set(each.name)
        assert each.source == ("absent" if entry.files else "embedded")
        assert bool(each.note) == bool(entry.files)
        assert each.error == ""


def test_the_published_files_of_the_users_folder_have_their_published_sizes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if USERS_FOLDER:  # without one the same question is asked of no folder at all
        monkeypatch.setenv("LNLIB_DATA", USERS_FOLDER)
    assert {each.error for each in data.readiness(data.DATA_SETS)} == {""}


def test_what_is_absent_comes_with_the_ways_out(small: DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
    assert finding() == Finding("small", "absent", DOWNLOAD)
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    assert finding() == Finding("small", "absent", "stand-in digits")
    monkeypatch.setitem(data.DATA_SETS, "small", dataclasses.replace(small, stand_in=None))
    assert finding() == Finding("small", "absent", "nothing stands in, and downloads are off")
    monkeypatch.setenv("LNLIB_OFFLINE", "0")
    assert finding() == Finding("small", "absent", "download of 2.0 MB")


@pytest.mark.parametrize("cached", [True, False])
def test_a_folder_that_holds_some_of_the_files_is_a_note_and_no_error(
    users: Path, tmp_path: Path, cached: bool
) -> None:
    write(users, {"a.bin": b"of the wrong size, and never to be read"})
    partly = f"{users} is incomplete and passed over: it lacks b.bin"
    if cached:
        write(tmp_path / "cache" / "small", FILES)
        assert finding() == Finding("small", "cache", partly)
    else:
        assert finding() == Finding("small", "absent", f"{partly}; {DOWNLOAD}")


@pytest.mark.parametrize(
    ("place", "files"),
    [("users", FILES), ("users", WHOLE), ("cache", FILES)],
    ids=["published", "alternative", "cached"],
)
@pytest.mark.parametrize("change", [-1, 1, None])
def test_a_file_of_another_size_is_an_error_with_both_sizes(
    users: Path, tmp_path: Path, place: str, files: dict[str, bytes], change: int | None
) -> None:
    users.parent.mkdir()
    folder = write(users if place == "users" else tmp_path / "cache" / "small", files)
    name, body = next(iter(files.items()))
    damaged = b"" if change is None else (body + b"x")[: len(body) + change]
    (folder / name).write_bytes(damaged)
    found = finding()
    assert found.source == ("LNLIB_DATA" if place == "users" else "cache")
    assert f"{folder / name} has {len(damaged)} bytes and the published file {len(body)}:" in found.error
    assert "python -m lnbook data --download small" in found.error
    assert (folder / name).read_bytes() == damaged
    with pytest.raises(DataError, match=name):  # what was foretold
        data.published("small")


def test_each_file_of_another_size_is_named(users: Path) -> None:
    write(users, {"a.bin": b"1", "b.bin": b"22"})
    assert "a.bin has 1 bytes" in finding().error
    assert "b.bin has 2 bytes" in finding().error


def test_an_empty_packed_file_is_an_error_and_any_other_size_is_not(users: Path) -> None:
    write(users, {"a.bin.gz": b"", "b.bin": FILES["b.bin"]})
    assert "a.bin.gz has 0 bytes" in finding().error
    write(users, {"a.bin.gz": b"who knows"})
    assert finding().error == ""


def test_a_damaged_part_in_the_cache_is_an_error_where_a_download_would_complete_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "cache" / "small", {"a.bin": b"short"})
    assert finding().source == "absent"
    assert "a.bin has 5 bytes and the published file 100" in finding().error
    monkeypatch.setenv("LNLIB_OFFLINE", "1")
    assert finding() == Finding("small", "absent", "stand-in digits")


def test_a_users_folder_that_is_not_there_or_is_no_folder_is_an_error(users: Path) -> None:
    assert finding().source == "unusable"
    assert f"there is no folder {users.parent}" in finding().error
    users.parent.write_text("a file")
    assert f"there is no folder {users.parent}" in finding().error
    assert data.readiness(["digits"]) == [Finding("digits", "embedded")]


def test_what_cannot_be_read_is_an_error(users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(users, FILES)
    with monkeypatch.context() as patch:  # chmod would not stop root
        patch.setattr(os, "access", lambda path, mode: (Path(path).name, mode) != ("b.bin", os.R_OK))
        assert finding() == Finding(
            "small", "LNLIB_DATA", error=f"{users / 'b.bin'} cannot be read; see to its permissions."
        )

    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", forbidden)
    assert finding().source == "unusable"
    assert f"{users} cannot be looked into (Permission denied)" in finding().error


def test_a_setting_without_meaning_is_an_error_where_it_matters(
    users: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LNLIB_OFFLINE", "maybe")
    users.mkdir(parents=True)
    assert "LNLIB_OFFLINE is 'maybe'" in finding().error
    write(users, FILES)
    assert finding() == Finding("small", "LNLIB_DATA")


def test_no_file_is_opened(users: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(users, FILES)

    def opened(*_: object, **__: object) -> None:
        raise AssertionError("a file was opened")

    monkeypatch.setattr("builtins.open", opened)
    monkeypatch.setattr(Path, "open", opened)
    found = data.readiness(data.DATA_SETS)
    monkeypatch.undo()
    assert found[-1] == Finding("small", "LNLIB_DATA")


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(DataError, match="Did you mean 'mnist'"):
        data.readiness(["digits", "mnits"])

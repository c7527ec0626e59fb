"""A file is written whole or not at all, also where several write it at once."""

import errno
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from lnbook.ledger.files import write_whole


def test_a_file_is_replaced_and_nothing_else_stays(tmp_path: Path) -> None:
    for content in (b"one", b"", b"\x00 two"):
        write_whole(tmp_path / "rows.csv", content)
        assert (tmp_path / "rows.csv").read_bytes() == content
        assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


def test_it_may_be_read_by_whom_the_folder_lets(tmp_path: Path) -> None:
    (tmp_path / "plain").write_bytes(b"")
    write_whole(tmp_path / "whole", b"")
    assert (tmp_path / "whole").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_of_two_that_write_at_once_a_reader_finds_one_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second begins and ends while the first has written half of its own."""
    flush, path = os.fsync, tmp_path / "rows.csv"
    calls: Iterator[int] = count()

    def interrupted(place: int) -> None:
        if next(calls) == 0:
            write_whole(path, b"second")
            assert path.read_bytes() == b"second"
        flush(place)

    monkeypatch.setattr(os, "fsync", interrupted)
    write_whole(path, b"the first")
    assert path.read_bytes() == b"the first"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


def test_many_writers_never_tear_a_file(tmp_path: Path) -> None:
    path, contents = tmp_path / "rows.csv", [bytes([k]) * 10_000 for k in range(8)]
    path.write_bytes(contents[0])
    with ThreadPoolExecutor(8) as pool:
        written = [pool.submit(write_whole, path, content) for content in contents * 4]
        while not all(done.done() for done in written):
            assert path.read_bytes() in contents
    assert all(done.result() is None for done in written)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_what_cannot_be_written_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    def refuse(_: int) -> None:
        raise OSError(error, os.strerror(error))

    write_whole(tmp_path / "rows.csv", b"before")
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match=os.strerror(error)):
        write_whole(tmp_path / "rows.csv", b"after")
    assert (tmp_path / "rows.csv").read_bytes() == b"before"
    assert [file.name for file in tmp_path.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize("error", [errno.EINVAL, errno.EIO])
def test_the_folder_is_flushed_where_its_file_system_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    flushed: list[bool] = []

    def fsync(place: int) -> None:
        flushed.append(os.path.sameopenfile(place, folder))
        if flushed[-1]:
            raise OSError(error, os.strerror(error))

    folder = os.open(tmp_path, os.O_RDONLY)
    monkeypatch.setattr(os, "fsync", fsync)
    if error == errno.EINVAL:  # as file systems say that they do not
        write_whole(tmp_path / "rows.csv", b"whole")
    else:
        with pytest.raises(OSError, match=os.strerror(error)):
            write_whole(tmp_path / "rows.csv", b"whole")
    os.close(folder)
    assert flushed == [False, True]
    assert (tmp_path / "rows.csv").read_bytes() == b"whole"

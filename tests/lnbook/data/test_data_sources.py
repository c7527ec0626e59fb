"""Published files: where they are looked for, downloaded from, what counts as intact, what stands in.

No test needs a network: downloads come from a server of this process.
"""

import contextlib
import gzip
import hashlib
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from lnbook import data
from lnbook.__main__ import main
from lnbook.data import DATA_SETS, DataError, StandInWarning
from lnbook.data.sources import DataSet, PublishedFile

FILES = {"parts/a b.bin": b"some bytes " * 4000, "c.bin": b"other bytes " * 20}
NOBODY = "http://127.0.0.1:9/"


def _file(name: str, body: bytes) -> PublishedFile:
    return PublishedFile(name, hashlib.sha256(body).hexdigest(), len(body))


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, body in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    return folder


def held_under(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


Small = Callable[..., list[str]]


@pytest.fixture(autouse=True)
def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Small]:
    """No data, an empty cache, and a data set "small" of FILES, whose first mirror does not answer.

    The function adds mirrors, which serve these files over HTTP; it returns what the last one is asked for.
    """
    for variable in ("LNLIB_DATA", "LNLIB_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    with contextlib.ExitStack() as servers:

        def serve(files: dict[str, bytes], asked: list[str]) -> str:
            class Handler(http.server.BaseHTTPRequestHandler):
                def do_GET(self) -> None:
                    asked.append(name := unquote(self.path[1:]))
                    self.send_response(200 if name in files else 404)
                    self.end_headers()
                    self.wfile.write(files.get(name, b""))

                def log_message(self, *_: object) -> None:
                    pass

            server = servers.enter_context(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler))
            threading.Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
            servers.callback(server.shutdown)
            return f"http://127.0.0.1:{server.server_address[1]}/"

        def register(*served: dict[str, bytes], **changed: Any) -> list[str]:
            asked: list[list[str]] = [[], *([] for _ in served)]
            urls = [NOBODY, *map(serve, served, asked[1:])]
            files = [_file(name, body) for name, body in FILES.items()]
            entry = DataSet("small", "a few bytes", "CC0", "the tests", files, urls, "digits", **changed)
            monkeypatch.setitem(DATA_SETS, "small", entry)
            return asked[-1]

        register()
        yield register


def test_every_data_set_has_files_with_hashes_and_addresses_or_ships_with_the_book() -> None:
    for entry in DATA_SETS.values():
        assert all(len(file.sha256) == 64 and (file.url or entry.mirrors) for file in entry.files)
        assert all((entry.title, entry.licence, entry.citation))
        assert not entry.stand_in or not data.data_set(entry.stand_in).files
    assert len({file.sha256 for file in data.data_set("gutenberg").files}) == 43


def test_the_command_lists_every_data_set_and_answers_another_name_with_the_known_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["data"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(DATA_SETS)
    assert main(["data", "mnits"]) == 2
    assert "the known names are mnist, fashion_mnist, binarized_mnist" in capsys.readouterr().err


def test_the_users_folder_comes_before_the_cache_and_the_cache_before_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Small, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = small(FILES)
    assert data.find("small") == "absent"
    assert asked == []
    files, provenance = data.published("small")
    assert provenance["source"] == "download"
    assert files == FILES
    assert held_under(tmp_path / "cache" / "small") == FILES
    assert data.find("small") == data.published("small")[1]["source"] == "cache"
    write(tmp_path / "users" / "small", FILES)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    assert data.find("small") == data.published("small")[1]["source"] == "LNLIB_DATA"
    assert asked == list(FILES)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("form", ["packed", "alternative"])
def test_another_form_of_the_files_serves_from_the_users_folder_and_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Small, form: str
) -> None:
    whole = b"".join(FILES.values())
    small(alternative=[_file("all.bin", whole)])
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    packed = {f"{name}.gz": gzip.compress(body) for name, body in FILES.items()}
    folder = write(tmp_path / "small", packed if form == "packed" else {"all.bin": whole})
    assert data.published("small")[1]["source"] == "LNLIB_DATA"
    spoiled = folder / ("c.bin.gz" if form == "packed" else "all.bin")
    spoiled.write_bytes(wrong := gzip.compress(b"another"))
    with pytest.raises(DataError, match=r"is not the published file: expected \d+ bytes with SHA-256"):
        data.published("small")
    if form == "packed":
        spoiled.write_bytes(wrong[:-4])
        with pytest.raises(DataError, match=r"c\.bin\.gz cannot be read"):
            data.published("small")


def test_a_relative_folder_is_the_one_that_was_typed_and_one_that_is_not_there_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "mine" / "small", FILES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LNLIB_DATA", "mine")
    data.resolve_environment()
    monkeypatch.chdir("/")
    assert data.find("small") == "LNLIB_DATA"
    for wrong in ("mine", str(tmp_path / "mine" / "small" / "c.bin")):
        monkeypatch.setenv("LNLIB_DATA", wrong)
        with pytest.raises(DataError, match=r"LNLIB_DATA is '.*there is no folder .*Give an absolute path"):
            data.find("small")
        assert main(["data", "small"]) == 1
        assert "unusable" in capsys.readouterr().out
        assert data.load("digits").provenance["source"] == "embedded"


def test_the_next_mirror_is_asked_when_one_lacks_or_falsifies_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: Small
) -> None:
    asked = small({}, dict.fromkeys(FILES, b"a login page"), FILES)
    write(users := tmp_path / "users" / "small", {"c.bin": b"of half a data set, never to be read"})
    monkeypatch.setenv("LNLIB_DATA", str(users.parent))
    assert data.published("small")[1]["source"] == "download"
    assert asked == list(FILES)
    assert held_under(tmp_path / "cache" / "small") == FILES
    assert list(held_under(users)) == ["c.bin"]


def test_a_download_that_fails_leaves_nothing_and_the_stand_in_is_named_or_silent_or_refused(
    tmp_path: Path, small: Small, recwarn: pytest.WarningsRecorder
) -> None:
    small(dict.fromkeys(FILES, b"a login page"))
    _, provenance = data.published("small", on_stand_in="silent")
    assert (provenance["name"], provenance["requested"], len(recwarn)) == ("digits", "small", 0)
    with pytest.warns(
        StandInWarning, match=r"is not whole in .*Digits: 1,797.*data --download small"
    ) as caught:
        data.published("small")
    for reason in (NOBODY, "refused", "does not match"):
        assert reason in str(caught[0].message)
    with pytest.raises(DataError, match="could not be downloaded"):
        data.published("small", on_stand_in="error")
    assert held_under(tmp_path) == {}


def test_a_damaged_file_is_an_error_with_both_hashes_and_stays_until_it_is_fetched_again(
    tmp_path: Path, small: Small, capsys: pytest.CaptureFixture[str]
) -> None:
    asked, damaged = small(FILES), FILES["c.bin"][:-1] + b"?"  # of the same size
    folder = write(tmp_path / "cache" / "small", FILES | {"c.bin": damaged})
    assert main(["data", "small"]) == 1
    told, hashes = capsys.readouterr().err, [hashlib.sha256(b).hexdigest() for b in (FILES["c.bin"], damaged)]
    assert all(part in told for part in (str(folder / "c.bin"), *hashes))
    assert (folder / "c.bin").read_bytes() == damaged
    assert main(["data", "--download", "small", "digits"]) == 0
    assert asked == ["c.bin"]
    assert held_under(tmp_path / "cache" / "small") == FILES


def test_a_license_to_accept_is_accepted_by_naming_the_data_set(small: Small) -> None:
    asked = small(FILES, consent=True)
    with pytest.warns(StandInWarning, match="its license, CC0, is yours to accept"):
        data.published("small")
    assert asked == []
    data.fetch("small")
    assert data.find("small") == "cache"


def test_offline_means_that_no_server_is_asked(
    monkeypatch: pytest.MonkeyPatch, small: Small, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = small(FILES)
    for word in ("1", "TRUE", " Yes ", "on"):
        monkeypatch.setenv("LNLIB_OFFLINE", word)
        with pytest.warns(StandInWarning, match="LNLIB_OFFLINE is set"):
            data.published("small")
    assert main(["data", "--download", "small"]) == 1
    assert "small: downloads are off (LNLIB_OFFLINE is set)" in capsys.readouterr().err
    assert data.content_of("small") == "stand-in"
    assert asked == []
    monkeypatch.setenv("LNLIB_OFFLINE", "no")
    assert data.published("small")[1]["source"] == "download"


def test_what_a_process_has_loaded_is_listed_once_and_in_order() -> None:
    for name in ("digits", "small", "digits"):
        data.published(name, on_stand_in="silent")
    assert [entry["requested"] for entry in data.loaded()] == ["digits", "small"]

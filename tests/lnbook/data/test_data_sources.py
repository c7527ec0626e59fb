"""Published files: where they are looked for, downloaded from, what counts as intact, what stands in.

No test needs a network: downloads come from a server of this process.
"""

import dataclasses
import functools
import gzip
import hashlib
import http.server
import os
import shutil
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from lnbook import data
from lnbook.__main__ import main
from lnbook.data import DATA_SETS, DataError, DataSet, PublishedFile, StandInWarning
from lnbook.data.books import load_books
from lnbook.data.captions import load_captions
from lnbook.data.sentences import load_labelled, load_pairs
from lnbook.data.sources import content, tar_members
from lnbook.data.strokes import Wanted, load_lines

USERS_FOLDER = os.environ.get("LNLIB_DATA")
FILES = {"parts/a b.bin": b"some bytes " * 4000, "c.bin": b"other bytes " * 20}
ARCHIVE = "gutenberg_books.tar.gz"
SICK = "download of 1.1 MB by `python -m lnbook data --download sick`"
NOBODY = "http://127.0.0.1:9/"


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No data, an empty cache, and a data set "small" of FILES that nobody serves."""
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.delenv("LNLIB_OFFLINE", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    register(monkeypatch, NOBODY)
    yield
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)  # of real data sets it is large


def register(monkeypatch: pytest.MonkeyPatch, *mirrors: str, **changed: Any) -> DataSet:
    files = tuple(_file(name, body) for name, body in FILES.items())
    entry = DataSet("small", "a few bytes", files, mirrors, "CC0", "made by the tests", stand_in="digits")
    entry = dataclasses.replace(entry, **changed)
    monkeypatch.setitem(DATA_SETS, "small", entry)
    return entry


def _file(name: str, body: bytes, url: str = "") -> PublishedFile:
    return PublishedFile(name, _sha256(body), len(body), url)


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, body in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    return folder


def held_under(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


Serve = Callable[..., tuple[str, list[str]]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve files over HTTP, each cut off after so many bytes if asked; returns the URL and the requests."""
    servers: list[http.server.ThreadingHTTPServer] = []

    def start(files: dict[str, bytes], cut: int | None = None) -> tuple[str, list[str]]:
        asked: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = unquote(self.path[1:])
                asked.append(name)
                if name not in files:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(files[name])))
                self.end_headers()
                self.wfile.write(files[name][:cut])

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_address[1]}/", asked

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_every_data_set_has_files_with_hashes_and_addresses_or_ships_with_the_book() -> None:
    for entry in DATA_SETS.values():
        assert all(len(file.sha256) == 64 and (file.url or entry.mirrors) for file in entry.files)
        assert all((entry.title, entry.licence, entry.citation))
        if entry.stand_in:
            assert not data.data_set(entry.stand_in).files
    assert len({file.sha256 for file in data.data_set("gutenberg").files}) == 43


def _may_serve(entry: DataSet) -> bool:
    """Whether the user's folder holds the published files."""
    folder = Path(USERS_FOLDER or "nowhere") / entry.name
    whole = all(any((folder / f"{f.name}{end}").is_file() for end in ("", ".gz")) for f in entry.files)
    return bool(entry.files) and (whole or (folder / ARCHIVE).is_file())


def _published_in(folder: Path, entry: DataSet) -> dict[str, bytes]:
    """The files of a data set as published, by name, from a user's folder that may hold them packed."""
    if (folder / ARCHIVE).is_file():
        return tar_members(folder / ARCHIVE)
    plain = {file.name: folder / file.name for file in entry.files}
    return {
        name: path.read_bytes() if path.is_file() else content(folder / f"{name}.gz")
        for name, path in plain.items()
    }


LOADERS: dict[str, Callable[..., Any]] = {
    "coco_captions": load_captions,
    "gutenberg": load_books,
    "sentence_classification": load_labelled,
    "sick": load_pairs,
    "omniglot_strokes": functools.partial(load_lines, "omniglot_strokes", wanted=Wanted(1, 1, 1)),
}


@pytest.mark.parametrize("name", [entry.name for entry in DATA_SETS.values() if _may_serve(entry)])
def test_a_published_data_set_is_fetched_under_its_published_addresses_and_loaded(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, name: str
) -> None:
    entry = data.data_set(name)
    bodies = _published_in(Path(str(USERS_FOLDER)) / name, entry)
    addresses = {file.name: file.url or entry.mirrors[0] + file.name for file in entry.files}
    url, asked = serve({unquote(urlsplit(url).path[1:]): bodies[key] for key, url in addresses.items()})

    files = tuple(
        dataclasses.replace(file, url=url + urlsplit(addresses[file.name]).path[1:]) for file in entry.files
    )
    there = dataclasses.replace(entry, files=files)
    monkeypatch.setitem(DATA_SETS, name, there)
    assert data.fetch([name], print) == {name: ""}
    assert len(asked) == len(files)
    found = LOADERS.get(name, functools.partial(data.load, name))(on_stand_in="error")
    assert found
    (read,) = (entry for entry in data.loaded() if entry["requested"] == name)
    assert read["source"] == data.find(name) == "cache"
    listing = "".join(f"{file.sha256}  {file.name}\n" for file in files)
    assert read["sha256"] == data.content_of(name) == _sha256(listing.encode())


@pytest.mark.parametrize("wrong", ["mnsit", "MNIST", "", "fashion-mnist"])
def test_an_unknown_name_is_answered_with_the_known_ones(wrong: str) -> None:
    for call in (data.find, data.load, lambda name: data.fetch([name], print)):
        with pytest.raises(DataError, match="known names are mnist, fashion_mnist, binarized_mnist"):
            call(wrong)
    with pytest.raises(DataError, match="Did you mean 'mnist'"):
        data.find("mnits")


def test_the_users_folder_comes_before_the_cache_and_the_cache_before_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve, capfd: pytest.CaptureFixture[str]
) -> None:
    url, asked = serve(FILES)
    register(monkeypatch, url)
    assert data.find("small") == "absent"
    assert asked == []
    assert data.published("small").provenance["source"] == "download"
    assert asked == list(FILES)
    assert held_under(tmp_path / "cache" / "small") == FILES
    found = data.published("small")
    assert data.find("small") == found.provenance["source"] == "cache"
    assert {name: path.read_bytes() for name, path in found.files.items()} == FILES
    write(tmp_path / "users" / "small", FILES)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    assert data.find("small") == data.published("small").provenance["source"] == "LNLIB_DATA"
    assert asked == list(FILES)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("form", ["packed", "alternative"])
def test_another_form_of_the_files_serves_from_the_users_folder_and_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    whole = b"".join(FILES.values())
    register(monkeypatch, NOBODY, alternative=(_file("all.bin", whole),))
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    packed = {f"{name}.gz": gzip.compress(body) for name, body in FILES.items()}
    folder = write(tmp_path / "small", packed if form == "packed" else {"all.bin": whole})
    assert data.published("small").provenance["source"] == "LNLIB_DATA"
    spoiled = folder / ("c.bin.gz" if form == "packed" else "all.bin")
    spoiled.write_bytes(wrong := gzip.compress(b"another"))
    with pytest.raises(DataError, match=r"is not the published file: expected \d+ bytes with SHA-256"):
        data.published("small")
    if form == "packed":
        spoiled.write_bytes(wrong[:-4])
        with pytest.raises(DataError, match=r"c\.bin\.gz is not a whole gzip file"):
            data.published("small")


@pytest.mark.parametrize("place", ["users", "cache"])
def test_a_damaged_file_is_an_error_with_both_hashes_and_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    folder = write(tmp_path / place / "small", FILES)
    if place == "users":
        monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    data.published("small")
    body = FILES["c.bin"]
    (folder / "c.bin").write_bytes(damaged := body[:-1] + b"?")  # of the same size, after its first use
    with pytest.raises(DataError) as caught:
        data.published("small")
    for part in (str(folder / "c.bin"), _sha256(body), _sha256(damaged), f"{len(body)} bytes"):
        assert part in str(caught.value)
    assert (folder / "c.bin").read_bytes() == damaged
    (found,) = data.readiness(["small"])
    assert found.error == str(caught.value)


@pytest.mark.parametrize("elsewhere", ["nowhere", "cache", "mirror"])
def test_half_a_data_set_in_the_users_folder_is_passed_over_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve, elsewhere: str
) -> None:
    users = write(tmp_path / "users" / "small", {"c.bin": b"never to be read"})
    monkeypatch.setenv("LNLIB_DATA", str(users.parent))
    if elsewhere == "cache":
        write(tmp_path / "cache" / "small", FILES)
    if elsewhere == "mirror":
        register(monkeypatch, serve(FILES)[0])
    (finding,) = data.readiness(["small"])
    assert "small is incomplete and passed over: it lacks parts/a b.bin" in finding.note
    if elsewhere == "nowhere":
        with pytest.warns(StandInWarning, match=r"lacks parts/a b\.bin, and was passed over"):
            provenance = data.published("small").provenance
    else:
        provenance = data.published("small", on_stand_in="error").provenance
    assert provenance["passed_over"] == "$LNLIB_DATA/small lacks parts/a b.bin"
    assert held_under(users) == {"c.bin": b"never to be read"}
    write(users, FILES)
    assert "passed_over" not in data.published("small").provenance


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


def test_the_next_mirror_is_asked_when_one_lacks_cuts_off_or_falsifies_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    bad = [serve({})[0], serve(FILES, cut=10)[0], serve(dict.fromkeys(FILES, b"a login page"))[0], NOBODY]
    url, asked = serve(FILES)
    register(monkeypatch, *bad, url)
    assert data.published("small").provenance["source"] == "download"
    assert asked == list(FILES)
    assert held_under(tmp_path / "cache" / "small") == FILES


def test_a_download_that_fails_leaves_nothing_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    false, cut = serve(dict.fromkeys(FILES, b"a login page"))[0], serve(FILES, cut=10)[0]
    register(monkeypatch, NOBODY, false, cut)
    with pytest.warns(StandInWarning) as caught:
        assert data.published("small").provenance["name"] == "digits"
    for reason in (NOBODY, "refused", "does not match", "IncompleteRead"):
        assert reason in str(caught[0].message)
    assert held_under(tmp_path) == {}
    lines: list[str] = []
    reasons = data.fetch(["small", "digits"], lines.append)
    assert list(map(bool, reasons.values())) == [True, False]
    assert lines == ["small: downloading 0.0 MB", f"small: {reasons['small']}"]


def test_a_cache_that_cannot_be_written_gives_the_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    register(monkeypatch, serve(FILES)[0])
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.warns(StandInWarning):
        data.published("small")


def test_what_is_corrupt_in_the_cache_is_fetched_again_on_demand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    url, asked = serve(FILES)
    register(monkeypatch, url)
    write(tmp_path / "cache" / "small", FILES | {"c.bin": b"corrupt"})
    assert main(["data", "small"]) == 1
    assert "corrupt" in capsys.readouterr().out
    assert main(["data", "--download", "small", "digits"]) == 0
    assert asked == ["c.bin"]
    assert held_under(tmp_path / "cache" / "small") == FILES


def test_a_license_to_accept_is_accepted_by_naming_the_data_set(
    monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    url, asked = serve(FILES)
    register(monkeypatch, url, consent=True)
    with pytest.warns(StandInWarning, match="its license, CC0, is yours to accept"):
        data.published("small")
    assert asked == []
    assert data.fetch(["small"], print) == {"small": ""}


def test_offline_means_that_no_server_is_asked(
    monkeypatch: pytest.MonkeyPatch, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    url, asked = serve(FILES)
    register(monkeypatch, url)
    for word in ("1", "TRUE", " Yes ", "on"):
        monkeypatch.setenv("LNLIB_OFFLINE", word)
        with pytest.warns(StandInWarning, match="LNLIB_OFFLINE is set"):
            data.published("small")
    assert main(["data", "--download", "small"]) == 1
    assert "small: downloads are off (LNLIB_OFFLINE is set)" in capsys.readouterr().err
    assert data.content_of("small") == "stand-in"
    assert asked == []
    monkeypatch.setenv("LNLIB_OFFLINE", "no")
    assert data.published("small").provenance["source"] == "download"
    monkeypatch.setenv("LNLIB_OFFLINE", "maybe")
    monkeypatch.setenv("LNLIB_CACHE", "/nowhere")
    with pytest.raises(DataError, match=r"'maybe'.* 1, true, yes, on .* 0, false, no, off or to nothing"):
        data.published("small")


@pytest.mark.usefixtures("as_users_call")
def test_a_stand_in_is_named_in_a_warning_or_silent_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DATA_SETS, "cifar10", dataclasses.replace(DATA_SETS["cifar10"], mirrors=(NOBODY,)))
    with pytest.warns(StandInWarning) as caught:
        provenance = data.published("small").provenance
    (warned,) = (one for one in caught if one.category is StandInWarning)
    for part in ("small is neither in $LNLIB_DATA/small/", "Digits: 1,797", "data --download small"):
        assert part in str(warned.message)
    assert warned.filename == __file__
    assert (provenance["name"], provenance["requested"]) == ("digits", "small")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data.published("small", on_stand_in="silent")
    for call in (data.published, functools.partial(data.load, "cifar10")):
        with pytest.raises(DataError, match="could not be downloaded"):
            call(*["small"][: call is data.published], on_stand_in="error")


def test_what_a_process_has_loaded_is_listed_once_and_in_order() -> None:
    for name in ("digits", "small", "digits"):
        data.published(name, on_stand_in="silent")
    assert [entry["requested"] for entry in data.loaded()] == ["digits", "small"]


def test_the_command_lists_every_data_set_and_refuses_other_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(DATA_SETS)
    assert [found.note for found in data.readiness(["small", "sick", "cifar10", "digits"])] == [
        "download of 0.0 MB or stand-in digits",
        f"{SICK} (its license is yours to accept) or stand-in sentence_templates",
        "download of 170.1 MB",
        "",
    ]
    assert main(["data", "mnits"]) == 2
    assert "Did you mean 'mnist'?" in capsys.readouterr().err

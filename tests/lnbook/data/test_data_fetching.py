"""Downloads ahead of use: what arrives, what is said, and how little a bad mirror or network can do.

All servers are of this process. The published files are served where LNLIB_DATA holds them, under the names
and paths of the registry; made-up sets are served always. Times are shortened; no test measures any.
"""

import dataclasses
import gzip
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import mirror as answers
import pytest
from mirror import Answer, Mirror

from lnbook import data
from lnbook.data import DataError, DataSet, PublishedFile, StandInWarning, transfer
from lnbook.data.books import load_books
from lnbook.data.captions import load_captions
from lnbook.data.sentences import load_labelled, load_pairs
from lnbook.data.strokes import Wanted, load_lines

USERS_FOLDER = os.environ.get("LNLIB_DATA")
ARCHIVE = "gutenberg_books.tar.gz"
FILES = {"train.bin": b"some bytes " * 4000, "test.bin": b"other bytes " * 20}


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No data, an empty cache, and a network of this process only."""
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.delenv("LNLIB_OFFLINE", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    yield
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)  # of real data sets it is large


Register = Callable[..., DataSet]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Register:
    """Put a made-up data set of FILES into the registry."""

    def put(*mirrors: str, name: str = "small", files: Mapping[str, bytes] = FILES) -> DataSet:
        published = tuple(PublishedFile(key, _sha256(body), len(body)) for key, body in files.items())
        entry = DataSet(name, "a few bytes", published, mirrors, "CC0", "made by the tests", "digits")
        monkeypatch.setitem(data.DATA_SETS, name, entry)
        return entry

    return put


def _sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def cached() -> dict[str, bytes]:
    """All files of the cache, by their path there."""
    folder = Path(os.environ["LNLIB_CACHE"])
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


WHOLE = {f"small/{name}": body for name, body in FILES.items()}


def fetched(name: str = "small") -> str:
    """The reason why not; and whatever `fetch` says, it says the same in words."""
    lines: list[str] = []
    (reason,) = data.fetch([name], lines.append).values()
    assert lines[-1] == f"{name}: {reason or 'downloaded'}"
    return reason


# ---------------------------------------------------------------------------------- the published files


def _published_in(folder: Path, entry: DataSet) -> dict[str, bytes | Path]:
    """The files of a data set as published, by name, from a user's folder that may hold them packed."""
    found: dict[str, bytes | Path] = {}
    for file in entry.files:
        plain, packed = folder / file.name, folder / f"{file.name}.gz"
        if plain.is_file():
            found[file.name] = plain
        elif packed.is_file():
            found[file.name] = gzip.decompress(packed.read_bytes())
    if not found:
        with tarfile.open(folder / ARCHIVE) as archive:
            for member in archive:
                if stream := archive.extractfile(member):
                    found[member.name] = stream.read()
    return found


def _may_serve(entry: DataSet) -> bool:
    """Whether the user's folder holds the published files."""
    folder = Path(USERS_FOLDER or "nowhere") / entry.name
    whole = all(any((folder / f"{f.name}{end}").is_file() for end in ("", ".gz")) for f in entry.files)
    return bool(entry.files) and (whole or (folder / ARCHIVE).is_file())


def _lines(on_stand_in: Any) -> Any:
    return load_lines("omniglot_strokes", Wanted(1, 1, 1), on_stand_in=on_stand_in)


LOADERS: dict[str, Callable[..., Any]] = {
    "coco_captions": load_captions,
    "gutenberg": load_books,
    "sentence_classification": load_labelled,
    "sick": load_pairs,
    "omniglot_strokes": _lines,
}


@pytest.mark.parametrize("name", [entry.name for entry in data.DATA_SETS.values() if _may_serve(entry)])
def test_a_published_data_set_is_fetched_under_its_published_addresses_and_loaded(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    entry = data.data_set(name)
    bodies = _published_in(Path(str(USERS_FOLDER)) / name, entry)
    addresses = {file.name: file.url or entry.mirrors[0] + file.name for file in entry.files}
    served = {unquote(urlsplit(url).path[1:]): bodies[key] for key, url in addresses.items()}
    with Mirror(served) as mirror:
        here = dataclasses.replace(
            entry,
            files=tuple(
                dataclasses.replace(file, url=file.url and mirror.url + urlsplit(file.url).path[1:])
                for file in entry.files
            ),
            mirrors=tuple(mirror.url + urlsplit(url).path[1:] for url in entry.mirrors),
        )
        monkeypatch.setitem(data.DATA_SETS, name, here)
        assert fetched(name) == ""
        assert sorted(mirror.asked) == sorted(served)
        found = data.published(name, on_stand_in="error")
        assert data.find(name) == found.provenance["source"] == "cache"
        listing = "".join(f"{_sha256(found.files[f.name].read_bytes())}  {f.name}\n" for f in entry.files)
        assert found.provenance["sha256"] == _sha256(listing.encode())
        assert [_sha256(found.files[f.name].read_bytes()) for f in entry.files] == [
            f.sha256 for f in entry.files
        ]
        if name in LOADERS:
            LOADERS[name](on_stand_in="error")
        else:
            assert len(data.load(name, on_stand_in="error").train_x) >= 50_000
        assert sorted(mirror.asked) == sorted(served)
    assert [held["source"] for held in data.loaded() if held["requested"] == name] == ["cache"]


@pytest.mark.parametrize("own", [True, False])
def test_made_up_files_are_fetched_from_their_own_addresses_or_a_mirror_and_read(
    monkeypatch: pytest.MonkeyPatch, register: Register, own: bool
) -> None:
    files = {"parts/a b.txt": b"in a folder, with a space", "b.txt": b"plain"}
    with Mirror({f"far/{name}": body for name, body in files.items()}) as mirror:
        entry = register(f"{mirror.url}far/", files=files)
        if own:
            with_url = tuple(
                dataclasses.replace(file, url=f"{mirror.url}far/{file.name}") for file in entry.files
            )
            monkeypatch.setitem(
                data.DATA_SETS, "small", dataclasses.replace(entry, files=with_url, mirrors=())
            )
        assert fetched() == ""
        assert sorted(mirror.asked) == sorted(f"far/{name}" for name in files)
    found = data.published("small")
    assert found.provenance["source"] == "cache"
    assert {name: path.read_bytes() for name, path in found.files.items()} == files


def test_what_is_not_fetched_ahead_is_downloaded_at_its_first_use(register: Register) -> None:
    with Mirror(FILES) as mirror:
        register(mirror.url)
        assert data.published("small").provenance["source"] == "download"
    assert cached() == WHOLE


# ---------------------------------------------------------------------------------- what is said


def test_each_download_is_said_with_its_name_and_size_by_the_calling_thread(register: Register) -> None:
    lines: list[str] = []
    threads = set()

    def say(line: str) -> None:
        lines.append(line)
        threads.add(threading.current_thread())

    with Mirror(FILES) as mirror:
        register(mirror.url)
        register(mirror.url, name="large", files={"train.bin": b"x" * 2_500_000})
        reasons = data.fetch(["small", "large", "digits"], say)
    assert list(reasons) == ["small", "large", "digits"]
    assert reasons["small"] == reasons["digits"] == ""
    assert "not as the published file" in reasons["large"]
    assert lines[:2] == ["small: downloading 0.0 MB", "large: downloading 2.5 MB"]
    assert sorted(lines[2:]) == sorted(["small: downloaded", f"large: {reasons['large']}"])
    assert threads == {threading.current_thread()}


def test_what_is_there_is_neither_asked_for_nor_spoken_of(register: Register, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "small"
    folder.mkdir(parents=True)
    for name, body in FILES.items():
        (folder / name).write_bytes(body)
    with Mirror(FILES) as mirror:
        register(mirror.url)
        assert data.fetch(["small", "digits"], pytest.fail) == {"small": "", "digits": ""}
        assert mirror.asked + mirror.knocked == []


def test_a_damaged_file_in_the_cache_is_a_reason_even_when_the_rest_arrives(
    register: Register, tmp_path: Path
) -> None:
    folder = tmp_path / "cache" / "small"
    folder.mkdir(parents=True)
    (folder / "train.bin").write_bytes(b"damaged")
    with Mirror(FILES) as mirror:
        register(mirror.url)
        assert "train.bin is not the published file" in fetched()
        assert mirror.asked == ["test.bin"]
    assert cached() == {"small/train.bin": b"damaged", "small/test.bin": FILES["test.bin"]}


def test_a_users_folder_that_does_not_exist_is_the_reason(
    register: Register, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "gone"))
    register("http://127.0.0.1:9/")
    reasons = data.fetch(["small", "digits"], pytest.fail)
    assert str(tmp_path / "gone") in reasons["small"]
    assert reasons["digits"] == ""


def test_an_unknown_name_is_an_error_before_anything_is_asked(register: Register) -> None:
    with Mirror(FILES) as mirror:
        register(mirror.url)
        with pytest.raises(DataError, match="Did you mean 'mnist'"):
            data.fetch(["small", "mnits"], pytest.fail)
        assert mirror.asked + mirror.knocked == []


def test_with_downloads_off_nobody_is_asked(register: Register, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LNLIB_OFFLINE", "yes")
    with Mirror(FILES) as mirror:
        register(mirror.url)
        assert fetched() == "downloads are off (LNLIB_OFFLINE is set)"
        assert mirror.asked + mirror.knocked == []
    assert cached() == {}


def test_a_word_that_neither_forbids_nor_allows_downloads_is_an_error(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LNLIB_OFFLINE", "maybe")
    with Mirror(FILES) as mirror:
        register(mirror.url)
        with pytest.raises(DataError, match="LNLIB_OFFLINE is 'maybe'"):
            data.fetch(["small"], pytest.fail)
        with pytest.raises(DataError, match="LNLIB_OFFLINE is 'maybe'"):
            data.published("small")
        assert mirror.asked + mirror.knocked == []


# ---------------------------------------------------------------------------------- bad mirrors


def refusing() -> str:
    """The address of a port on which nobody listens."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{held.getsockname()[1]}/"


def test_the_second_mirror_serves_what_the_first_does_not_have(register: Register) -> None:
    with Mirror({"test.bin": FILES["test.bin"]}) as first, Mirror(FILES) as second:
        register(first.url, second.url)
        assert fetched() == ""
        assert first.asked == list(FILES)  # a 404 is of one file, not of the mirror
        assert second.asked == ["train.bin"]
    assert cached() == WHOLE


def test_the_second_mirror_serves_when_the_first_refuses_the_connection(register: Register) -> None:
    with Mirror(FILES) as second:
        register(refusing(), second.url)
        assert fetched() == ""
    assert cached() == WHOLE


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (answers.cut, "IncompleteRead"),
        (answers.short, "not as the published file"),
        (answers.login, "A login page of the network"),
        (answers.endless, "more than the 44000 bytes of the published file came"),
    ],
)
@pytest.mark.parametrize("second", [True, False])
def test_a_body_that_is_not_the_file_is_not_kept_and_the_next_mirror_is_asked(
    register: Register, answer: Answer, reason: str, second: bool
) -> None:
    with Mirror(FILES, answer) as bad, Mirror(FILES) as good:
        register(bad.url, *([good.url] if second else []))
        said = fetched()
        assert (said == "") if second else (reason in said and bad.url in said)
        if answer is answers.endless:
            assert bad.hung_up.wait(60)
    assert cached() == (WHOLE if second else {})


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(answers.cut, "could not be downloaded: .*IncompleteRead"), (answers.silent, "downloaded: .*timed out")],
)
def test_a_transfer_that_breaks_off_at_first_use_gives_the_stand_in(
    register: Register, monkeypatch: pytest.MonkeyPatch, answer: Answer, reason: str
) -> None:
    monkeypatch.setattr(transfer, "TIMEOUT_S", 1.0)
    with Mirror(FILES, answer) as mirror:
        register(mirror.url)
        with pytest.warns(StandInWarning, match=reason):
            assert data.published("small").provenance["name"] == "digits"
    assert cached() == {}


def test_a_refused_connection_is_named(register: Register) -> None:
    address = refusing()
    register(address)
    said = fetched()
    assert address in said
    assert "refused" in said
    assert cached() == {}


def test_a_trickle_is_cut_off_after_the_time_that_its_size_excuses(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "_SHORTEST_S", 0.3)
    monkeypatch.setattr(transfer, "_SLOWEST", 100_000)
    with Mirror(FILES, answers.trickle) as mirror:
        register(mirror.url)
        assert "not whole after 0.44 s" in fetched()
        assert cached() == {}
    assert cached() == {}


def test_a_mirror_that_answers_and_then_sends_nothing_is_asked_for_one_file_only(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "TIMEOUT_S", 2.0)
    with Mirror(FILES, answers.silent) as bad, Mirror(FILES) as good:
        register(bad.url, good.url)
        assert fetched() == ""
        assert bad.asked == ["train.bin"]
        assert good.asked == list(FILES)
    assert cached() == WHOLE


def test_a_silent_mirror_is_waited_for_once_however_many_data_sets_it_holds(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "TIMEOUT_S", 2.0)
    names = ["one", "two", "three"]
    with Mirror(FILES, head=answers.silent) as bad, Mirror(FILES) as good:
        for name in names[:2]:
            register(bad.url, name=name)
        register(bad.url, good.url, name="three")
        reasons = data.fetch(names, lambda _: None)
        assert (len(bad.knocked), bad.asked) == (1, [])
        assert good.asked == list(FILES)
    assert reasons["three"] == ""
    for name in names[:2]:
        assert reasons[name].endswith("gave no answer within 2 s")
    assert cached() == {f"three/{name}": body for name, body in FILES.items()}


def test_a_silent_mirror_gives_the_stand_in_at_first_use(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "TIMEOUT_S", 0.3)
    with Mirror(FILES, head=answers.silent) as mirror:
        register(mirror.url)
        with pytest.warns(StandInWarning, match=r"gave no answer within 0\.3 s"):
            data.published("small")
        assert mirror.asked == []


def test_a_mirror_that_does_not_know_how_to_be_knocked_at_serves(register: Register) -> None:
    def unknown(_: Mirror, request: Any, body: bytes) -> None:
        request.send_error(501)

    with Mirror(FILES, head=unknown) as mirror:
        register(mirror.url)
        assert fetched() == ""


# ---------------------------------------------------------------------------------- at the same time


def test_all_data_sets_are_fetched_at_once_and_all_hosts_asked_at_once(register: Register) -> None:
    count = 5
    knocks, transfers = (threading.Barrier(count, timeout=60) for _ in range(2))

    def head(_: Mirror, request: Any, body: bytes) -> None:
        knocks.wait()
        request.send_error(404)

    def together(mirror: Mirror, request: Any, body: bytes) -> None:
        transfers.wait()
        answers.whole(mirror, request, body)

    files = {"one.bin": b"one"}
    mirrors = [Mirror(files, together, head) for _ in range(count)]
    names = [f"set{number}" for number in range(count)]
    for name, mirror in zip(names, mirrors, strict=True):
        register(mirror.url, name=name, files=files)
        mirror.__enter__()
    try:
        assert data.fetch(names, lambda _: None) == dict.fromkeys(names, "")
    finally:
        for mirror in mirrors:
            mirror.__exit__(None, None, None)
    assert cached() == {f"{name}/one.bin": b"one" for name in names}


FETCH = 'print(json.dumps(data.fetch(["small"], lambda line: None)))'


def another_process(entry: DataSet, command: str = FETCH) -> subprocess.Popen[str]:
    """A Python that fetches a data set into the same cache and prints what `fetch` returns, or another."""
    files = [(file.name, file.sha256, file.size) for file in entry.files]
    program = f"""
import json, signal
from lnbook import data
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
files = tuple(data.PublishedFile(*row) for row in json.loads({json.dumps(files)!r}))
data.DATA_SETS["small"] = data.DataSet("small", "", files, {entry.mirrors!r}, "", "")
{command}
"""
    started = [sys.executable, "-c", program]
    return subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_that_fetch_the_same_files_both_get_them(register: Register) -> None:
    both = threading.Barrier(2, timeout=120)

    def together(mirror: Mirror, request: Any, body: bytes) -> None:
        both.wait()
        answers.whole(mirror, request, body)

    with Mirror(FILES, together) as mirror:
        entry = register(mirror.url)
        processes = [another_process(entry) for _ in range(2)]
        for process in processes:
            out, err = process.communicate(timeout=300)
            assert (json.loads(out), err, process.returncode) == ({"small": ""}, "", 0)
        assert sorted(mirror.asked) == sorted(2 * list(FILES))
    assert cached() == WHOLE


def test_an_interrupt_in_the_middle_leaves_nothing_behind(register: Register) -> None:
    with Mirror(FILES, answers.stuck) as mirror:
        process = another_process(register(mirror.url))
        assert mirror.half.wait(120)
        assert len(cached()) == 1  # the temporary file
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
        assert cached() == {}
    assert out == ""
    assert "KeyboardInterrupt" in err
    assert process.returncode != 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_told_to_end_says_so_and_leaves_nothing_behind(
    register: Register, number: signal.Signals
) -> None:
    command = 'from lnbook.__main__ import main\nimport sys\nsys.exit(main(["data", "--download", "small"]))'
    with Mirror(FILES, answers.stuck) as mirror:
        process = another_process(register(mirror.url), command)
        assert mirror.half.wait(120)
        process.send_signal(number)
        out, err = process.communicate(timeout=300)
        assert cached() == {}
    assert (out, process.returncode) == ("", 130)
    assert err.splitlines()[-1] == "Interrupted. No part of a file is kept."
    assert "Traceback" not in err


def test_an_interrupt_of_a_download_at_first_use_leaves_nothing_behind(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        assert [name.split("/")[0] for name in cached()] == ["small"]  # the temporary file
        raise KeyboardInterrupt

    monkeypatch.setattr(transfer, "_within", interrupted)
    with Mirror(FILES) as mirror:
        register(mirror.url)
        with pytest.raises(KeyboardInterrupt):
            data.published("small")
    assert cached() == {}


def test_a_transfer_given_up_cannot_write_afterward(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as stream:
        bounded = transfer._Bounded(stream, 10)
        bounded.write(b"12345")
        bounded.write(b"67890")
        with pytest.raises(ValueError, match="more than the 10 bytes"):
            bounded.write(b"1")
    with pytest.raises(ValueError, match="closed file"):
        transfer._Bounded(stream, 10).write(b"1")
    assert (tmp_path / "file").read_bytes() == b"1234567890"


def test_a_transfer_that_is_told_to_stop_does_not_wait_for_its_mirror() -> None:
    forever, stop = threading.Event(), threading.Event()
    stop.set()
    with pytest.raises(transfer.DownloadFailed, match="interrupted"):
        transfer._within(1e9, forever.wait, stop)
    forever.set()

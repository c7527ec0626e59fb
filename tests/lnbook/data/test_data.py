"""The data sets: where they are looked for, what counts as intact, and what is said when they are not there.

No test here needs a network: downloads come from a server of this process. The published MNIST files are
used where LNLIB_DATA holds them, else a small set in the same format.
"""

import dataclasses
import gzip
import hashlib
import http.server
import os
import struct
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from lnbook import data
from lnbook.__main__ import main
from lnbook.data import DataError, DataSet, PublishedFile, StandInWarning

NAMES = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
USERS_FOLDER = os.environ.get("LNLIB_DATA")
WHOLE = data.find("mnist") == "LNLIB_DATA"  # before a test changes where it is looked for


def idx(array: np.ndarray, kind: int = 0x08) -> bytes:
    header = struct.pack(f">HBB{array.ndim}I", 0, kind, array.ndim, *array.shape)
    return header + array.tobytes()


def tiny_files(seed: int = 0) -> dict[str, bytes]:
    """24 training and 6 test pictures of 5 x 4 pixels, in MNIST's four files."""
    draw = np.random.default_rng(seed)
    arrays = [
        draw.integers(0, 256, shape).astype(np.uint8)
        if len(shape) == 3
        else ((np.arange(*shape) + seed) % 10).astype(np.uint8)
        for shape in ((24, 5, 4), (24,), (6, 5, 4), (6,))
    ]
    return {f"{name}-ubyte.gz": gzip.compress(idx(a), mtime=0) for name, a in zip(NAMES, arrays, strict=True)}


def write(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No data, an empty cache, no network."""
    monkeypatch.delenv("LNLIB_DATA", raising=False)
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LNLIB_OFFLINE", "1")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """A registered data set "tiny" in MNIST's form, with nobody serving it; returns its published files."""
    files = tiny_files()
    register(monkeypatch, files, mirrors=("http://127.0.0.1:9/",))
    return files


def register(monkeypatch: pytest.MonkeyPatch, files: dict[str, bytes], mirrors: tuple[str, ...]) -> None:
    published = tuple(
        PublishedFile(name, hashlib.sha256(content).hexdigest(), len(content))
        for name, content in files.items()
    )
    entry = DataSet(
        "tiny", "24 + 6 pictures", published, mirrors, "CC0", "made by the tests", stand_in="digits"
    )
    monkeypatch.setitem(data.DATA_SETS, "tiny", entry)


Serve = Callable[[dict[str, bytes], int | None], tuple[str, list[str]]]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Serve files over HTTP, each cut off after so many bytes if asked; returns the URL and the requests."""
    servers: list[http.server.ThreadingHTTPServer] = []

    def start(files: dict[str, bytes], cut: int | None = None) -> tuple[str, list[str]]:
        requests: list[str] = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.removeprefix("/")
                requests.append(name)
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
        return f"http://127.0.0.1:{server.server_address[1]}/", requests

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def everything_under(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# ---------------------------------------------------------------------------------- what is loaded


def test_published_files_in_the_users_folder_are_read_and_split_as_the_paper_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes]
) -> None:
    if WHOLE:
        name, counts, monkeypatched = "mnist", (55_000, 5_000, 10_000), str(USERS_FOLDER)
    else:
        name, counts, monkeypatched = "tiny", (22, 2, 6), str(tmp_path)
        write(tmp_path / "tiny", tiny)
    monkeypatch.setenv("LNLIB_DATA", monkeypatched)

    images = data.load(name)

    assert data.find(name) == images.provenance["source"] == "LNLIB_DATA"
    assert (len(images.train_x), len(images.valid_x), len(images.test_x)) == counts
    assert images.provenance["cases"] == sum(counts)
    assert images.train_x.dtype == np.uint8
    assert images.train_y.dtype == np.int64
    if WHOLE:
        assert images.train_x.shape[1:] == (28, 28)
        assert images.train_y[:5].tolist() == [5, 0, 4, 1, 9]
        assert images.train_x.mean() / 255 == pytest.approx(0.1307, abs=2e-4)


@pytest.mark.usefixtures("as_users_call")
def test_flat_scales_pixels_to_the_unit_interval_and_keeps_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes]
) -> None:
    write(tmp_path / "tiny", tiny)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    images = data.load("tiny")
    for part, x, y in (
        ("train", images.train_x, images.train_y),
        ("valid", images.valid_x, images.valid_y),
        ("test", images.test_x, images.test_y),
    ):
        flat, labels = images.flat(part)
        assert flat.shape == (len(x), 20)
        assert flat.dtype == np.float32
        np.testing.assert_allclose(flat * 255, x.reshape(len(x), -1), rtol=1e-6)
        np.testing.assert_array_equal(labels, y)
    whole = np.concatenate([images.train_x, images.valid_x])
    np.testing.assert_array_equal(whole, data.read_idx(tmp_path / "tiny" / f"{NAMES[0]}-ubyte.gz"))
    with pytest.raises(DataError, match='"train", "valid" and "test", not \'dev\''):
        images.flat("dev")  # type: ignore[arg-type]


def test_digits_are_always_there_and_always_the_same() -> None:
    images = data.load("digits")
    assert data.find("digits") == images.provenance["source"] == "embedded"
    assert (len(images.train_x), len(images.valid_x), len(images.test_x)) == (1318, 119, 360)
    assert images.peak == images.train_x.max() == 16
    assert np.bincount(images.test_y).min() >= 30
    assert images.provenance["sha256"].startswith("65e5b461")


def test_a_changed_edition_of_the_digits_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lnbook.data.images._DIGITS_SHA256", "0" * 64)
    with pytest.raises(DataError, match=r"expected SHA-256 0000.* found 65e5b461"):
        data.load("digits")


# ---------------------------------------------------------------------------------- where it is looked for


def test_the_users_folder_comes_before_the_cache_and_the_cache_before_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes], serve: Serve
) -> None:
    url, requests = serve(tiny, None)
    register(monkeypatch, tiny, (url,))
    monkeypatch.delenv("LNLIB_OFFLINE")
    assert data.find("tiny") == "absent"
    assert data.load("tiny").provenance["source"] == "download"
    assert requests == list(tiny)
    assert data.find("tiny") == data.load("tiny").provenance["source"] == "cache"
    write(tmp_path / "users" / "tiny", tiny)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    assert data.find("tiny") == data.load("tiny").provenance["source"] == "LNLIB_DATA"
    assert requests == list(tiny)


def test_finding_uses_no_network(
    tiny: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    url, requests = serve(tiny, None)
    register(monkeypatch, tiny, (url,))
    monkeypatch.delenv("LNLIB_OFFLINE")
    assert data.find("tiny") == "absent"
    assert requests == []


def test_offline_means_that_no_server_is_asked(
    tiny: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, serve: Serve
) -> None:
    url, requests = serve(tiny, None)
    register(monkeypatch, tiny, (url,))
    data.load("tiny", on_stand_in="silent")
    assert requests == []


@pytest.mark.usefixtures("tiny")
def test_a_users_folder_that_does_not_exist_is_an_error_that_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "here" / "tiny", tiny_files())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LNLIB_DATA", "here")
    assert data.load("tiny").provenance["source"] == "LNLIB_DATA"
    monkeypatch.chdir(tmp_path / "here")  # as notebooks run in book/
    for call in (data.find, data.load):
        with pytest.raises(DataError, match=r"LNLIB_DATA is 'here'.*here.here\. Give an absolute path"):
            call("tiny")
    assert data.load("digits").provenance["source"] == "embedded"
    assert main(["data", "tiny"]) == 1
    out, err = capsys.readouterr()
    assert "unusable" in out
    assert str(tmp_path / "here" / "here") in err


@pytest.mark.usefixtures("tiny")
def test_an_empty_setting_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LNLIB_DATA", "")
    assert data.find("tiny") == "absent"


def test_symbolic_links_are_followed_and_broken_ones_are_missing_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes]
) -> None:
    elsewhere = write(tmp_path / "elsewhere", tiny)
    (tmp_path / "users" / "tiny").mkdir(parents=True)
    for name in tiny:
        (tmp_path / "users" / "tiny" / name).symlink_to(elsewhere / name)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    assert data.load("tiny").provenance["source"] == "LNLIB_DATA"
    (elsewhere / f"{NAMES[0]}-ubyte.gz").unlink()
    with pytest.raises(
        DataError, match=r"is incomplete and was passed over: it lacks train-images-idx3-ubyte\.gz\."
    ):
        data.load("tiny", on_stand_in="error")


def test_what_may_not_be_read_is_an_error_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes]
) -> None:
    folder = write(tmp_path / "cache" / "tiny", tiny)

    def forbidden(*_: object) -> None:
        raise PermissionError(13, "Permission denied")  # chmod would not stop root

    with monkeypatch.context() as patch:
        patch.setattr(data.files, "_sha256", forbidden)
        with pytest.raises(DataError, match=r"images-idx3-ubyte\.gz cannot be read \(Permission denied\)"):
            data.load("tiny")
    monkeypatch.setattr(Path, "is_file", forbidden)
    with pytest.raises(DataError, match=rf"{folder} cannot be looked into \(Permission denied\)"):
        data.find("tiny")


def test_the_cache_is_the_operating_systems_unless_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LNLIB_CACHE")
    assert data.files.cache_folder().name == "lnlib"


@pytest.mark.parametrize("wrong", ["mnsit", "MNIST", "", "fashion-mnist"])
def test_an_unknown_name_is_answered_with_the_known_ones(wrong: str) -> None:
    with pytest.raises(
        DataError, match=r"known names are mnist, fashion_mnist, binarized_mnist, cifar10, digits"
    ):
        data.load(wrong)


def test_a_near_miss_is_answered_with_a_suggestion() -> None:
    with pytest.raises(DataError, match=r"Did you mean 'fashion_mnist'\?"):
        data.find("fashion-mnist")


# ---------------------------------------------------------------------------------- stand-ins


def test_a_stand_in_is_named_in_a_warning_and_in_the_provenance(tiny: dict[str, bytes]) -> None:
    with pytest.warns(StandInWarning) as caught:
        images = data.load("tiny")
    text = str(caught[0].message)
    assert "tiny" in text
    assert "Digits: 1,797" in text
    assert "LNLIB_OFFLINE is set" in text
    assert "python -m lnbook data --download tiny" in text
    assert (images.provenance["name"], images.provenance["requested"]) == ("digits", "tiny")
    assert images.provenance["source"] == "embedded"


@pytest.mark.usefixtures("as_users_call")
def test_a_stand_in_can_be_silent_or_refused_but_nothing_else(tiny: dict[str, bytes]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert data.load("tiny", on_stand_in="silent").provenance["name"] == "digits"
    with pytest.raises(DataError, match=r"tiny is neither .* could not be downloaded"):
        data.load("tiny", on_stand_in="error")
    with pytest.raises(DataError, match="on_stand_in"):
        data.load("tiny", on_stand_in="ignore")  # type: ignore[arg-type]


def test_what_a_process_has_loaded_is_listed_once_and_in_order(tiny: dict[str, bytes]) -> None:
    assert data.loaded() == []
    for name in ("digits", "tiny", "digits"):
        data.load(name, on_stand_in="silent")
    assert [(entry["name"], entry["requested"]) for entry in data.loaded()] == [
        ("digits", "digits"),
        ("digits", "tiny"),
    ]
    assert {"name", "requested", "source", "sha256", "cases", "licence"} <= data.loaded()[0].keys()
    data.loaded()[0]["name"] = "changed by a caller"
    assert data.loaded()[0]["name"] == "digits"


# ---------------------------------------------------------------------------------- damaged files


@pytest.mark.parametrize("place", ["users", "cache"])
@pytest.mark.parametrize("damage", ["flipped bit", "truncated", "empty"])
def test_a_damaged_file_is_an_error_with_both_hashes_and_stays_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes], place: str, damage: str
) -> None:
    folder = write(tmp_path / place / "tiny", tiny)
    if place == "users":
        monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    name, content = next(iter(tiny.items()))
    damaged = {
        "flipped bit": content[:40] + bytes([content[40] ^ 1]) + content[41:],
        "truncated": content[:-5],
        "empty": b"",
    }[damage]
    (folder / name).write_bytes(damaged)
    with pytest.raises(DataError) as caught:
        data.load("tiny")
    text = str(caught.value)
    for part in (
        str(folder / name),
        hashlib.sha256(content).hexdigest(),
        hashlib.sha256(damaged).hexdigest(),
    ):
        assert part in text
    assert f"{len(content)} bytes" in text
    assert f"{len(damaged)} bytes" in text
    assert (folder / name).read_bytes() == damaged
    assert len(everything_under(folder)) == 4


def test_a_file_damaged_after_its_first_use_is_noticed(tmp_path: Path, tiny: dict[str, bytes]) -> None:
    folder = write(tmp_path / "cache" / "tiny", tiny)
    data.load("tiny")
    name = NAMES[3] + "-ubyte.gz"
    (folder / name).write_bytes(tiny[name] + b"\0")
    with pytest.raises(DataError, match=name):
        data.load("tiny")


def test_a_file_is_hashed_once_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes]
) -> None:
    write(tmp_path / "cache" / "tiny", tiny)
    hashed: list[Path] = []
    honest = data.files._sha256
    monkeypatch.setattr(data.files, "_sha256", lambda path: hashed.append(path) or honest(path))
    data.load("tiny")
    data.load("tiny")
    assert len(hashed) == 4


@pytest.fixture
def partly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes]) -> Path:
    """A user's folder of "tiny" that lacks the labels for training; what it holds is not as published."""
    files = {name: b"never to be read" for name in tiny if name != f"{NAMES[1]}-ubyte.gz"}
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    return write(tmp_path / "users" / "tiny", files)


LACKING = f"lacks {NAMES[1]}-ubyte.gz"


def test_half_a_data_set_in_the_users_folder_is_passed_over_and_the_stand_in_says_what_it_lacks(
    partly: Path,
) -> None:
    assert data.find("tiny") == "absent"
    with pytest.warns(StandInWarning) as caught:
        provenance = data.load("tiny").provenance
    with pytest.raises(DataError) as refused:
        data.load("tiny", on_stand_in="error")
    for text in (str(caught[0].message), str(refused.value)):
        assert (
            f"{partly} is incomplete and was passed over: it {LACKING}. tiny is not in the cache, and" in text
        )
        assert "LNLIB_OFFLINE is set" in text
    assert provenance["name"] == "digits"
    assert provenance["passed_over"] == f"$LNLIB_DATA/tiny {LACKING}"
    assert len(everything_under(partly)) == 3


def test_half_a_data_set_in_the_users_folder_gives_way_to_the_whole_one_in_the_cache(
    tmp_path: Path, partly: Path, tiny: dict[str, bytes]
) -> None:
    cached = write(tmp_path / "cache" / "tiny", tiny)
    found = data.published("tiny")
    assert data.find("tiny") == found.provenance["source"] == "cache"
    assert found.provenance["passed_over"] == f"$LNLIB_DATA/tiny {LACKING}"
    assert set(found.files.values()) == set(cached.iterdir())
    assert len(everything_under(partly)) == 3


@pytest.mark.usefixtures("online")
def test_half_a_data_set_in_the_users_folder_gives_way_to_a_download_of_all_files(
    monkeypatch: pytest.MonkeyPatch, partly: Path, tiny: dict[str, bytes], serve: Serve
) -> None:
    url, requests = serve(tiny, None)
    register(monkeypatch, tiny, (url,))
    found = data.published("tiny")
    assert found.provenance["source"] == "download"
    assert found.provenance["passed_over"] == f"$LNLIB_DATA/tiny {LACKING}"
    assert {name: path.read_bytes() for name, path in found.files.items()} == tiny
    assert requests == list(tiny)
    assert len(everything_under(partly)) == 3


def test_what_was_passed_over_once_is_not_said_of_a_later_whole_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, partly: Path, tiny: dict[str, bytes]
) -> None:
    write(tmp_path / "cache" / "tiny", tiny)
    assert "passed_over" in data.published("tiny").provenance
    monkeypatch.delenv("LNLIB_DATA")
    assert "passed_over" not in data.published("tiny").provenance
    monkeypatch.setenv("LNLIB_DATA", str(partly.parent))
    for name, content in tiny.items():
        (partly / name).write_bytes(content)
    provenance = data.published("tiny").provenance
    assert provenance["source"] == "LNLIB_DATA"
    assert "passed_over" not in provenance


def test_a_folder_that_lacks_many_files_is_described_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, {f"{number}.txt": b"x" for number in range(9)}, mirrors=("http://127.0.0.1:9/",))
    write(tmp_path / "tiny", {"4.txt": b"x"})
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    found = data.published("tiny", on_stand_in="silent")
    assert found.provenance["passed_over"] == "$LNLIB_DATA/tiny lacks 0.txt, 1.txt, 2.txt and 5 more"


def test_a_folder_with_none_of_the_files_is_not_half_a_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes]
) -> None:
    write(tmp_path / "tiny", {"README.txt": b"nothing else"})
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    assert "passed_over" not in data.published("tiny", on_stand_in="silent").provenance
    assert tiny


# ---------------------------------------------------------------------------------- downloads


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LNLIB_OFFLINE")


@pytest.mark.usefixtures("online")
def test_a_download_is_quiet_off_a_terminal_and_leaves_the_published_bytes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tiny: dict[str, bytes],
    serve: Serve,
    capfd: pytest.CaptureFixture[str],
) -> None:
    url, _ = serve(tiny, None)
    register(monkeypatch, tiny, (url,))
    data.load("tiny")
    assert capfd.readouterr() == ("", "")
    cached = tmp_path / "cache" / "tiny"
    assert {path.name: path.read_bytes() for path in cached.iterdir()} == tiny


@pytest.mark.usefixtures("online")
def test_an_interrupted_transfer_leaves_no_file_and_gives_the_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes], serve: Serve
) -> None:
    url, _ = serve(tiny, 100)
    register(monkeypatch, tiny, (url,))
    with pytest.warns(StandInWarning, match="could not be downloaded"):
        assert data.load("tiny").provenance["name"] == "digits"
    assert everything_under(tmp_path) == []
    assert data.find("tiny") == "absent"


@pytest.mark.usefixtures("online")
def test_another_file_than_the_published_one_is_an_error_and_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes], serve: Serve
) -> None:
    url, _ = serve(tiny_files(seed=1), None)
    register(monkeypatch, tiny, (url,))
    with pytest.raises(DataError, match=r"(?s)came, but not as the published file.*LNLIB_OFFLINE=1"):
        data.load("tiny")
    assert everything_under(tmp_path) == []


@pytest.mark.usefixtures("online")
def test_the_next_mirror_is_asked_when_one_fails(
    monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes], serve: Serve
) -> None:
    broken, _ = serve(tiny, 10)
    empty, _ = serve({}, None)
    other, _ = serve(tiny_files(seed=1), None)
    good, requests = serve(tiny, None)
    register(monkeypatch, tiny, (broken, empty, other, good))
    assert data.load("tiny").provenance["source"] == "download"
    assert requests == list(tiny)


@pytest.mark.usefixtures("online")
def test_only_the_missing_files_are_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes], serve: Serve
) -> None:
    url, requests = serve(tiny, None)
    register(monkeypatch, tiny, (url,))
    folder = write(tmp_path / "cache" / "tiny", tiny)
    (folder / f"{NAMES[2]}-ubyte.gz").unlink()
    data.load("tiny")
    assert requests == [f"{NAMES[2]}-ubyte.gz"]


@pytest.mark.usefixtures("online")
def test_a_cache_that_cannot_be_written_gives_the_stand_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes], serve: Serve
) -> None:
    url, _ = serve(tiny, None)
    register(monkeypatch, tiny, (url,))
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.warns(StandInWarning):
        data.load("tiny")


# ---------------------------------------------------------------------------------- the IDX format


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 4), (0, 28, 28), ()])
def test_idx_arrays_come_back_as_written(tmp_path: Path, shape: tuple[int, ...]) -> None:
    array = np.arange(int(np.prod(shape)), dtype=np.uint8).reshape(shape)
    for name, content in (("a.idx", idx(array)), ("a.gz", gzip.compress(idx(array)))):
        (tmp_path / name).write_bytes(content)
        back = data.read_idx(tmp_path / name)
        np.testing.assert_array_equal(back, array)
        assert back.flags.writeable


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "not an IDX file"),
        (b"\x00\x00", "not an IDX file"),
        (b"PK\x03\x04 a zip file", "not an IDX file"),
        (idx(np.zeros(3, np.uint8), kind=0x0D), "type 0x0d"),
        (idx(np.zeros((2, 3), np.uint8))[:7], "cut short within its header of 2 axes"),
        (idx(np.zeros((2, 3), np.uint8))[:-1], r"shape \(2, 3\), 6 values, but holds 5"),
        (idx(np.zeros((2, 3), np.uint8)) + b"\0", r"shape \(2, 3\), 6 values, but holds 7"),
        (struct.pack(">HBB3I", 0, 8, 3, *[2**32 - 1] * 3), "but holds 0"),
    ],
)
def test_what_is_not_an_idx_file_of_bytes_is_refused_with_the_reason(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "wrong.idx"
    path.write_bytes(content)
    with pytest.raises(DataError, match=complaint):
        data.read_idx(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content",
    [b"plain text", gzip.compress(b"x" * 1000, mtime=0)[:-9], b"", b"\x1f\x8b\x08\x00"],
    ids=["text", "cut short", "empty", "header"],  # not the bytes: all processes must collect the same names
)
def test_what_is_not_a_whole_gzip_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "wrong.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=str(path)):
        data.read_idx(path)


def test_images_and_labels_that_do_not_pair_up_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tiny_files()
    files[f"{NAMES[1]}-ubyte.gz"] = gzip.compress(idx(np.zeros(23, np.uint8)))
    register(monkeypatch, files, ())
    write(tmp_path / "cache" / "tiny", files)
    with pytest.raises(DataError, match=r"train images \(24, 5, 4\) and labels \(23,\)"):
        data.load("tiny")


# ---------------------------------------------------------------------------------- other forms of the files


def packed(files: dict[str, bytes]) -> PublishedFile:
    content = b"".join(files.values())
    return PublishedFile("all.bin", hashlib.sha256(content).hexdigest(), len(content))


def test_an_alternative_form_serves_from_the_users_folder_and_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes]
) -> None:
    entry = dataclasses.replace(data.data_set("tiny"), alternative=(packed(tiny),))
    monkeypatch.setitem(data.DATA_SETS, "tiny", entry)
    whole = write(tmp_path / "users" / "tiny", {"all.bin": b"".join(tiny.values())}) / "all.bin"
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    found = data.published("tiny")
    assert found.files == {"all.bin": whole}
    assert found.provenance["source"] == "LNLIB_DATA"
    whole.write_bytes(whole.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"all\.bin is not the published file"):
        data.published("tiny")


def test_mnists_files_serve_uncompressed_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes]
) -> None:
    plain = {name.removesuffix(".gz"): gzip.decompress(content) for name, content in tiny.items()}
    other = tuple(PublishedFile(n, hashlib.sha256(c).hexdigest(), len(c)) for n, c in plain.items())
    entry = dataclasses.replace(data.data_set("tiny"), alternative=other)
    monkeypatch.setitem(data.DATA_SETS, "tiny", entry)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    write(tmp_path / "users" / "tiny", plain)
    images = data.load("tiny")
    assert images.provenance["source"] == "LNLIB_DATA"
    np.testing.assert_array_equal(
        images.test_x, data.read_idx(tmp_path / "users" / "tiny" / f"{NAMES[2]}-ubyte")
    )


def test_published_files_come_before_their_alternative(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes]
) -> None:
    entry = dataclasses.replace(data.data_set("tiny"), alternative=(packed(tiny),))
    monkeypatch.setitem(data.DATA_SETS, "tiny", entry)
    write(tmp_path / "users" / "tiny", tiny | {"all.bin": b"another"})
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    assert list(data.published("tiny").files) == list(tiny)


def test_a_file_with_an_address_of_its_own_is_fetched_from_there(
    monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes], serve: Serve
) -> None:
    monkeypatch.delenv("LNLIB_OFFLINE")
    address, requests = serve({f"far/{name}.bin": content for name, content in tiny.items()}, None)
    own = tuple(
        dataclasses.replace(file, url=f"{address}far/{file.name}.bin") for file in data.data_set("tiny").files
    )
    entry = dataclasses.replace(data.data_set("tiny"), files=own, mirrors=())
    monkeypatch.setitem(data.DATA_SETS, "tiny", entry)
    found = data.published("tiny")
    assert {name: path.read_bytes() for name, path in found.files.items()} == tiny
    assert sorted(requests) == sorted(f"far/{name}.bin" for name in tiny)


def test_what_holds_no_pictures_is_not_loaded_as_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    register(monkeypatch, {"words.txt": b"some words"}, mirrors=("http://127.0.0.1:9/",))
    write(tmp_path / "tiny", {"words.txt": b"some words"})
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    with pytest.raises(DataError, match="tiny holds no pictures"):
        data.load("tiny")


# ---------------------------------------------------------------------------------- the registry itself


@pytest.mark.parametrize("entry", data.DATA_SETS.values(), ids=list(data.DATA_SETS))
def test_every_entry_can_be_fetched_checked_and_cited(entry: DataSet) -> None:
    assert entry.licence
    assert entry.citation
    assert entry.files or not entry.mirrors
    assert entry.stand_in is None or not data.DATA_SETS[entry.stand_in].files
    for file in entry.files:
        assert file.url.startswith("https://") or entry.mirrors
    for file in (*entry.files, *entry.alternative):
        assert len(bytes.fromhex(file.sha256)) == 32
        assert file.size > 0
    for mirror in entry.mirrors:
        assert mirror.startswith(("https://", "http://"))
        assert mirror.endswith("/")


# ---------------------------------------------------------------------------------- the command line


def test_the_listing_says_what_is_where(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tiny: dict[str, bytes],
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(tmp_path / "users" / "tiny", tiny)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "users"))
    monkeypatch.chdir(tmp_path)
    assert main(["data"]) == 0
    out, err = capsys.readouterr()
    lines = {line.split()[0]: line for line in out.splitlines()}
    assert list(lines) == ["name", *data.DATA_SETS]
    assert list(data.DATA_SETS)[-1] == "tiny"
    assert "absent" in lines["mnist"]
    assert "11.6 MB" in lines["mnist"]
    assert "CC BY-SA 3.0" in lines["mnist"]
    assert "embedded" in lines["digits"]
    assert lines["tiny"].split()[1:] == ["LNLIB_DATA", "0.0", "MB", "CC0", os.path.join("users", "tiny")]
    assert err == ""


def test_the_listing_reports_damage_and_fails(
    tmp_path: Path,
    tiny: dict[str, bytes],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = write(tmp_path / "cache" / "tiny", tiny)
    (folder / f"{NAMES[0]}-ubyte.gz").write_bytes(b"")
    assert main(["data", "tiny"]) == 1
    out, err = capsys.readouterr()
    assert "corrupt" in out
    assert "SHA-256" in err


@pytest.mark.parametrize("cached", [True, False])
def test_the_listing_reports_half_a_data_set_and_fails(
    tmp_path: Path, partly: Path, tiny: dict[str, bytes], cached: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    if cached:
        write(tmp_path / "cache" / "tiny", tiny)
    assert main(["data", "tiny"]) == 1
    out, err = capsys.readouterr()
    assert f"{'cache' if cached else 'absent'} (LNLIB_DATA: incomplete)" in out
    assert f"{partly} is incomplete and passed over: it {LACKING}." in err


@pytest.mark.usefixtures("online")
def test_the_command_downloads_what_is_named(
    monkeypatch: pytest.MonkeyPatch, tiny: dict[str, bytes], serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    url, requests = serve(tiny, None)
    register(monkeypatch, tiny, (url,))
    for _ in range(2):
        assert main(["data", "--download", "tiny", "digits"]) == 0
        assert "cache" in capsys.readouterr().out
    assert requests == list(tiny)


def test_a_download_that_cannot_be_is_status_1(
    tiny: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "--download", "tiny"]) == 1
    out, err = capsys.readouterr()
    assert "absent" in out
    assert "tiny: downloads are off (LNLIB_OFFLINE is set)" in err


def test_an_unknown_name_on_the_command_line_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "mnits"]) == 2
    assert "Did you mean 'mnist'?" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["bogus"], ["data", "--bogus"]])
def test_a_command_line_without_sense_is_status_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2


def test_the_command_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "lnbook", "data", "digits"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1].split()[:2] == ["digits", "embedded"]

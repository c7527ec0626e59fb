"""A bundle holds the whole book; a build takes from it what it would make again, and nothing damaged."""

import doctest
import hashlib
import json
import shutil
import stat
import struct
import sys
import zipfile
from collections.abc import Callable
from datetime import date
from pathlib import Path

import nbformat
import pytest
from test_preflight import bare  # noqa: F401  no data, no cache, no downloads
from test_schedule import write

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import bundle  # noqa: E402
import preflight  # noqa: E402
import release  # noqa: E402
import reuse  # noqa: E402
from bundle import Bundle, BundleError, write_bundle  # noqa: E402
from execute import Executed, damage_of_kept, kept_folder  # noqa: E402
from seal import SEAL, seal  # noqa: E402

CITATION = {
    "title": "A small book",
    "version": "0.0.1",
    "date-released": date(2026, 1, 2),
    "license": ["MIT"],
    "authors": [{"name": "Nobody"}],
}
FACTS = {"version": "1", "scale": "smoke", "pages": {}}


def keep(path: Path) -> Executed:
    """A page as if it had run: its copy, its rows, the data of a figure."""
    folder = kept_folder(path, "smoke")
    for name in (f"smoke/{path.stem}.csv", f"smoke/{path.stem}.json", f"figures/{path.stem}-drawn.csv"):
        file = folder / "results" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{path.stem},1\n")
    notebook = nbformat.read(path, 4)
    notebook.metadata["ran"] = True
    nbformat.write(notebook, folder / path.name)
    seal(folder)
    return Executed(folder / path.name, folder / "results", False)


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Three pages as if built: run, rendered, printed."""
    monkeypatch.setattr("execute.CACHE", tmp_path / "executed")
    monkeypatch.setattr(release, "build_packages", lambda out: (out / "lnlib-1.whl").write_bytes(b"wheel"))
    paths = [write(tmp_path / f"{name}.ipynb", f"'{name}'") for name in ("one", "two", "last")]
    runs = [keep(path) for path in paths]
    notebooks = tmp_path / "build" / "html" / "book" / "notebooks"
    notebooks.mkdir(parents=True)
    (notebooks.parents[1] / ".buildinfo").write_text("Sphinx's own")
    for run in runs:
        (notebooks / run.notebook.name).write_bytes(run.notebook.read_bytes())
    (tmp_path / "build" / "pdf").mkdir()
    (tmp_path / "build" / "pdf" / release.PDF).write_bytes(b"%PDF")
    return paths


def released(book: list[Path]) -> Path:
    return release.release(book, "smoke", book[0].parent / "build", CITATION)[0]


def elsewhere(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """The folder of kept runs of a reader, who has none."""
    monkeypatch.setattr("execute.CACHE", folder / "reader")
    return folder / "reader"


def taken(place: Path, book: list[Path], scale: str = "smoke") -> list[str]:
    said: list[str] = []
    reuse.take(place, book, scale, said.append)
    return said


def files(folder: Path) -> dict[str, bytes]:
    found = (f for f in folder.rglob("*") if f.is_file() and f.suffix != ".lock")
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in found}


def test_a_reader_gets_each_run_of_an_unchanged_book_as_it_was(book, tmp_path, monkeypatch):
    place = released(book)
    reader = elsewhere(monkeypatch, tmp_path)
    assert taken(place, book) == ["lnlib-book-0.0.1.zip: 3 of 3 pages are what this build would make"]
    assert files(reader) == files(tmp_path / "executed")
    assert len(files(reader)) == 3 * 5
    assert not [f for f in reader.iterdir() if f.name.startswith(".")], "what was unpacked is gone"


def test_a_page_that_measures_nothing_is_taken_too(book, tmp_path, monkeypatch):
    for page in book[:2]:
        shutil.rmtree(kept_folder(page, "smoke") / "results")
        (kept_folder(page, "smoke") / "results").mkdir()
        seal(kept_folder(page, "smoke"))
    place = released(book)
    reader = elsewhere(monkeypatch, tmp_path)
    assert "3 of 3 pages" in taken(place, book)[0]
    assert len(list(reader.glob("*/*/*/results"))) == 3


def test_the_bundle_has_all_that_a_reader_wants_and_a_digest_of_each(book):
    place = released(book)
    with Bundle(place) as opened, zipfile.ZipFile(place) as packed:
        names = set(packed.namelist())
        assert set(opened.manifest["files"]) == names - {"manifest.json"}
        assert len(opened.manifest["pages"]["one"]["key"]) == 64
        crate = json.loads(opened.read("ro-crate-metadata.json"))
    assert {
        "html/book/notebooks/one.ipynb",
        f"pdf/{release.PDF}",
        "executed/one/one.ipynb",
        "executed/one/results/smoke/one.csv",
        "executed/one/results/smoke/one.json",
        "executed/one/results/figures/one-drawn.csv",
        "packages/lnlib-1.whl",
    } <= names
    assert "html/.buildinfo" not in names
    described = {part["@id"]: part for part in crate["@graph"]}
    assert names - {"manifest.json", "ro-crate-metadata.json"} <= set(described)
    assert described["ro-crate-metadata.json"]["conformsTo"]["@id"].endswith("ro/crate/1.1")
    assert described["./"]["datePublished"].startswith("2026-01-02")


def test_the_same_book_makes_the_same_bundle(book):
    place = released(book)
    first = place.read_bytes()
    (book[0].parent / "build" / "pdf" / release.PDF).touch()
    assert released(book).read_bytes() == first


def test_a_bundle_that_cannot_be_written_leaves_the_last_one_and_no_part_of_it(tmp_path, monkeypatch):
    out = tmp_path / "small.zip"
    write_bundle(out, {"a.csv": b"1"}, FACTS)
    before = out.read_bytes()

    def full(place: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_bundle(out, {"a.csv": b"2"}, FACTS)
    assert out.read_bytes() == before
    assert list(tmp_path.iterdir()) == [out]


def test_a_page_that_changed_is_run_and_the_others_are_taken(book, tmp_path, monkeypatch):
    place = released(book)
    reader = elsewhere(monkeypatch, tmp_path)
    write(book[0], "'another one'")
    assert taken(place, book) == [
        "lnlib-book-0.0.1.zip: 2 of 3 pages are what this build would make",
        "to be run: 1 of 3 pages (one): its cells changed",
    ]
    assert sorted(f.name for f in reader.rglob("*.ipynb")) == ["last.ipynb", "two.ipynb"]


def test_another_interpreter_runs_all_pages_and_is_named(book, tmp_path, monkeypatch):
    monkeypatch.setattr("digest.platform.python_version", lambda: "3.99.0")
    with pytest.raises(release.NotReady, match=r"3 pages have not run .*: last, one, two\."):
        released(book)
    monkeypatch.undo()
    monkeypatch.setattr("execute.CACHE", tmp_path / "executed")
    monkeypatch.setattr(release, "build_packages", lambda out: None)
    place = released(book)
    reader = elsewhere(monkeypatch, tmp_path)
    ours = sys.version.split()[0]
    monkeypatch.setattr("digest.platform.python_version", lambda: "3.99.0")
    said = taken(place, book)
    assert said[0].endswith("0 of 3 pages are what this build would make")
    assert said[1] == f"to be run: 3 of 3 pages: Python 3.99.0 in place of {ours}"
    assert not files(reader)


def test_a_bundle_of_another_scale_says_so(book, tmp_path, monkeypatch):
    place = released(book)
    elsewhere(monkeypatch, tmp_path)
    assert "to be run: 3 of 3 pages: book scale in place of smoke" in taken(place, book, "book")


def test_a_run_that_is_kept_here_is_not_replaced(book):
    place = released(book)
    kept = kept_folder(book[0], "smoke") / "one.ipynb"
    kept.write_text("mine")
    seal(kept.parent)
    taken(place, book)
    assert kept.read_text() == "mine"


def test_a_run_that_was_changed_here_is_replaced_and_not_released(book):
    place = released(book)
    kept = kept_folder(book[0], "smoke") / "one.ipynb"
    whole = kept.read_bytes()
    for spoil in (lambda: kept.write_bytes(whole[:50]), lambda: (kept.parent / SEAL).unlink()):
        spoil()
        with pytest.raises(release.NotReady, match=r"what they left was changed: one\. Run"):
            released(book)
        taken(place, book)
        assert kept.read_bytes() == whole
        assert damage_of_kept(book[0], "smoke") == ""


def test_pages_of_another_build_and_a_missing_pdf_are_not_released(book, tmp_path):
    pdf = tmp_path / "build" / "pdf" / release.PDF
    pdf.unlink()
    with pytest.raises(release.NotReady, match="needs Chromium"):
        released(book)
    pdf.write_bytes(b"%PDF")
    (tmp_path / "build" / "html" / "book" / "notebooks" / "two.ipynb").write_text("of another run")
    with pytest.raises(release.NotReady, match="not made of the kept run of two"):
        released(book)


def repacked(place: Path, change: Callable[[str, bytes], bytes | None]) -> None:
    """Write the zip again with other contents; None leaves a file out."""
    with zipfile.ZipFile(place) as packed:
        contents = {name: change(name, packed.read(name)) for name in packed.namelist()}
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in contents.items():
            if data is not None:
                packed.writestr(name, data)


def small(place: Path) -> Path:
    write_bundle(place, {"a/one.csv": b"1" * 400, "a/two.csv": b"2" * 400}, FACTS)
    return place


def of_format(told: bytes, **other: object) -> bytes:
    return json.dumps(json.loads(told) | other).encode()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n, d: b"3" * 400 if n == "a/two.csv" else d, r"'a/two\.csv' is not the file"),
        (
            lambda n, d: d[:-1] if n == "a/two.csv" else d,
            r"'a/two\.csv' has 399 bytes; the manifest says 400",
        ),
        (lambda n, d: None if n == "a/one.csv" else d, r"'a/one\.csv' is missing"),
        (lambda n, d: None if n == "manifest.json" else d, r"'manifest\.json' is missing: this is no bundle"),
        (lambda n, d: d[:99] if n == "manifest.json" else d, r"'manifest\.json' cannot be read"),
        (lambda n, d: b"[]" if n == "manifest.json" else d, r"'manifest\.json' cannot be read"),
        (
            lambda n, d: of_format(d, name="another") if n == "manifest.json" else d,
            r"'manifest\.json' is of \('another', 1\)",
        ),
        (
            lambda n, d: (
                of_format(d, files={"a": {"bytes": 2**60, "sha256": ""}}) if n == "manifest.json" else d
            ),
            r"'manifest\.json' announces 1152921504606846976 bytes",
        ),
        (
            lambda n, d: (
                of_format(d, pages={"p": {"key": "0", "made_of": {}}}) if n == "manifest.json" else d
            ),
            r"'executed/p/p\.ipynb' is missing",
        ),
    ],
)
def test_a_bundle_that_is_not_whole_is_refused_by_the_name_of_what_is_wrong(tmp_path, change, message):
    place = small(tmp_path / "b.zip")
    Bundle(place).close()
    repacked(place, change)
    with pytest.raises(BundleError, match=message):
        Bundle(place)


def test_a_flipped_bit_is_noticed_and_the_file_that_has_it_named(tmp_path):
    place = small(tmp_path / "b.zip")
    with zipfile.ZipFile(place) as packed:
        info = packed.getinfo("a/two.csv")
    data = bytearray(place.read_bytes())
    name, extra = struct.unpack("<HH", data[info.header_offset + 26 : info.header_offset + 30])
    data[info.header_offset + 30 + name + extra + 2] ^= 1
    place.write_bytes(data)
    with pytest.raises(BundleError, match=r"'a/two\.csv'"):
        Bundle(place)


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.99])
def test_a_bundle_that_is_cut_off_is_refused(tmp_path, kept):
    place = small(tmp_path / "b.zip")
    data = place.read_bytes()
    place.write_bytes(data[: int(kept * len(data)) if kept < 1 else kept])
    with pytest.raises(BundleError, match=r"b\.zip is no whole zip"):
        Bundle(place)


@pytest.mark.parametrize(
    "name",
    ["../up.csv", "/etc/up.csv", "a/../../up.csv", "a\\..\\up.csv", "C:up.csv", "a//up.csv", "a/", ".h"],
)
def test_a_name_that_leads_out_of_the_folder_is_neither_written_nor_read(tmp_path, name):
    with pytest.raises(ValueError, match="no plain relative path"):
        write_bundle(tmp_path / "b.zip", {name: b""}, FACTS)
    place = small(tmp_path / "c.zip")
    with zipfile.ZipFile(place, "a") as packed:
        packed.writestr(zipfile.ZipInfo(name), b"")
    with pytest.raises(BundleError, match="is no plain relative path"):
        Bundle(place)


def test_a_link_a_double_and_a_file_nobody_announced_are_refused(tmp_path):
    link = zipfile.ZipInfo("a/link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    for info, message in (
        (link, "'a/link' is a link"),
        (zipfile.ZipInfo("a/more"), "'a/more' is not in the"),
    ):
        place = small(tmp_path / "b.zip")
        with zipfile.ZipFile(place, "a") as packed:
            packed.writestr(info, "/etc")
        with pytest.raises(BundleError, match=message):
            Bundle(place)
    place = small(tmp_path / "b.zip")
    with zipfile.ZipFile(place, "a") as packed, pytest.warns(UserWarning, match="Duplicate name"):
        packed.writestr("a/one.csv", b"1" * 400)
    with pytest.raises(BundleError, match=r"'a/one\.csv' is there twice"):
        Bundle(place)


def test_no_more_is_unpacked_than_was_announced(tmp_path):
    """A zip may claim that a file is small which unpacks to any size."""
    place = small(tmp_path / "b.zip")
    sizes = {"a/two.csv": {"bytes": 100, "sha256": hashlib.sha256(b"2" * 100).hexdigest()}}
    repacked(place, lambda n, d: of_format(d, files=sizes) if n == "manifest.json" else d)
    repacked(place, lambda n, d: None if n == "a/one.csv" else d)
    with zipfile.ZipFile(place) as packed:
        directory = packed.start_dir
    data = bytearray(place.read_bytes())
    at = data.index(b"a/two.csv", directory) - 46  # its entry in the zip's directory ...
    struct.pack_into("<I", data, at + 24, 100)  # ... where its unpacked size stands
    place.write_bytes(data)
    with pytest.raises(BundleError, match=r"'a/two\.csv' is damaged"):
        Bundle(place)


def test_a_damaged_bundle_stops_a_build_before_anything_is_changed(book, tmp_path, monkeypatch):
    place = released(book)
    reader = elsewhere(monkeypatch, tmp_path)
    repacked(place, lambda n, d: b"{}" if n == "executed/two/two.ipynb" else d)
    monkeypatch.setenv("LNLIB_FROM", str(place))
    monkeypatch.setattr(preflight.disk_problems, "__defaults__", (tmp_path / "_build",))
    with pytest.raises(preflight.ExtensionError, match=r"'executed/two/two\.ipynb' has 2 bytes"):
        preflight.made_ready(book, "smoke", lambda _: None)
    assert not reader.exists()


def test_the_examples_run():
    assert doctest.testmod(reuse).failed == doctest.testmod(bundle).failed == 0

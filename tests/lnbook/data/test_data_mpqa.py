"""MPQA's phrases in their published form, in both encodings, and what is wrong with a file."""

from pathlib import Path

import pytest

from lnbook.data import DataError, loaded
from lnbook.data.mpqa import load_mpqa, phrases, present


def published(root: Path, encoding: str = "latin-1") -> Path:
    """Twelve positive and fifteen negative phrases, one of each with a letter outside ASCII."""
    folder = root / "mpqa"
    folder.mkdir()
    for name, count in (("mpqa.pos", 12), ("mpqa.neg", 15)):
        lines = [f"phrase {k} of {name}" for k in range(count - 1)] + ["na\xefve"]
        (folder / name).write_bytes("".join(f"{line}\r\n" for line in lines).encode(encoding) + b"\r\n")
    return folder


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig"])
def test_phrases_are_read_in_either_encoding_with_their_labels(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(tmp_path, encoding)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    found, provenance = load_mpqa()
    assert found.labels.tolist() == [1] * 12 + [0] * 15
    assert found.texts[0] == "phrase 0 of mpqa.pos"
    assert found.texts[11] == found.texts[26] == "na\xefve"
    assert provenance in loaded()
    assert (provenance["name"], provenance["cases"]) == ("mpqa", 27)


def test_a_letter_of_windows_that_splitlines_takes_for_an_end_is_none(tmp_path: Path) -> None:
    path = tmp_path / "mpqa.pos"
    path.write_bytes(b"wait\x85 what\n" * 10)  # an ellipsis there, NEXT LINE in Latin-1
    assert len(phrases(path)) == 10


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "mpqa.pos has 0 bytes"),
        (b"good\n" * 9 + b"\n", r"mpqa.pos has 9 phrases, one per line; ten folds need at least 10"),
        (("good\n" * 20).encode("utf-16"), r"mpqa.pos, line 1 is not Latin-1 or UTF-8 text; save"),
        (b"good\n" * 20 + b"b\x01d\n", r"mpqa.pos, line 21 is not Latin-1"),
    ],
)
def test_damaged_files_are_refused_by_name(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "mpqa.pos"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        phrases(path)


def test_a_missing_file_and_a_missing_folder_are_errors_that_say_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    assert not present()
    with pytest.raises(
        DataError, match=r"put mpqa.pos and mpqa.neg into \$LNLIB_DATA/mpqa/, or use sentence_"
    ):
        load_mpqa()
    (published(tmp_path) / "mpqa.neg").unlink()
    assert present()
    with pytest.raises(
        DataError, match=r"mpqa.neg is not there; put .* remove the folder to use pros and cons"
    ):
        load_mpqa()

"""BookCorpus in its published form: sentences of a user's files as numbers on disk."""

from pathlib import Path

import numpy as np
import pytest

from lnbook.data import DataError, bookcorpus, loaded
from lnbook.data.bookcorpus import Store, load_store, present, sentences
from lnbook.data.text import Vocabulary, tokenize

WORDS = ("the", "cat", "sat", "on", "a", "mat", ".", "dogs", "did", "n't", "``", "''", "she", "'s", "mr.")


def lines(count: int, seed: int) -> list[str]:
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, size=draw.integers(1, 9))) for _ in range(count)]


def published(root: Path, *files: list[str]) -> Path:
    """Files of these lines in $LNLIB_DATA/bookcorpus."""
    folder = root / "bookcorpus"
    folder.mkdir()
    for k, content in enumerate(files, 1):
        (folder / f"books_large_p{k}.txt").write_text("".join(f"{line}\n" for line in content))
    return folder


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of data, with a cache beside it."""
    monkeypatch.setenv("LNLIB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def of(store: Store, k: int) -> list[str]:
    return store.vocabulary.decode(store.numbers[store.offsets[k] : store.offsets[k + 1]].tolist())


def test_a_sentence_has_the_tokens_that_it_would_have_when_it_is_judged(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    content = ["`` Do n't , '' said Mrs. Green-Hill 's cat .", "", "isn't it\u00a0so ?"]
    path.write_bytes(("\ufeff" + "\r\n".join(content)).encode())
    found = list(sentences(path))
    assert found[0] == ['"', *tokenize("Do n't ,"), '"', *tokenize("said Mrs. Green-Hill 's cat .")]
    assert found[1:] == [[], ["is", "n't", "it", "so", "?"]]


def test_the_store_holds_every_sentence_of_both_files_in_order(root: Path) -> None:
    one, other = lines(400, 1), lines(300, 2)
    published(root, one, other)
    store = load_store(words=100)
    whole = [[token for word in line.split() for token in bookcorpus._tokens(word)] for line in one + other]
    assert [of(store, k) for k in range(400)] == whole[:400]
    assert of(store, 400) == []  # between the files
    assert [of(store, k) for k in range(401, 701)] == whole[400:]
    assert len(store.offsets) == 702
    assert (store.held, store.provenance["cases"]) == (700 // 12, 700)
    assert store.provenance in loaded()
    assert isinstance(store.numbers.base, np.memmap)  # on disk, not in memory


def test_the_vocabulary_is_that_of_the_sentences_before_those_held_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = [*lines(380, 3), *["zebra"] * 20]
    published(root, whole)
    monkeypatch.setattr(bookcorpus, "HELD_OUT", 25)  # fewer than a twelfth, which would be 33
    store = load_store(words=5)
    assert store.held == 25
    expected = Vocabulary.build(
        [tokenize(line.replace("``", '"').replace("''", '"')) for line in whole[:375]], 5
    )
    assert store.vocabulary.words == expected.words
    assert store.numbers[-20:].tolist() == [1] * 20  # unknown: "zebra" is in the last sentences alone


def test_a_second_call_reads_what_the_first_made_until_the_files_change(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = published(root, lines(60, 4))
    first = load_store(words=9)
    monkeypatch.setattr(bookcorpus, "sentences", lambda path: pytest.fail("read again"))
    again = load_store(words=9)
    assert again.vocabulary.words == first.vocabulary.words
    np.testing.assert_array_equal(again.numbers, first.numbers)
    assert [entry.name for entry in (root.parent / "cache" / "bookcorpus").iterdir()] == [
        Path(str(first.numbers.base.filename)).parent.name
    ]
    monkeypatch.undo()
    monkeypatch.setenv("LNLIB_CACHE", str(root.parent / "cache"))
    monkeypatch.setenv("LNLIB_DATA", str(root))
    (folder / "books_large_p1.txt").write_text("\n".join(lines(72, 5)))
    assert load_store(words=9).provenance["cases"] == 72


def test_no_more_than_a_chunk_of_numbers_waits_to_be_written(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published(root, lines(200, 6), lines(50, 7))
    whole = load_store(words=12)
    monkeypatch.setattr(bookcorpus, "CHUNK", 7)
    monkeypatch.setenv("LNLIB_CACHE", str(root.parent / "other"))
    pieces = load_store(words=12)
    np.testing.assert_array_equal(pieces.numbers, whole.numbers)
    np.testing.assert_array_equal(pieces.offsets, whole.offsets)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"books_large_p2.txt has 0 bytes; .* get it again"),
        (b"a cat .\nna\xefve\n", r"books_large_p2.txt, line 2 is not UTF-8 text .*; save the file as UTF-8"),
        ("a cat .\n".encode("utf-16-le"), r"line 1 has a zero character, so it is not UTF-8 text"),
        (b"a " * 2**19 + b"cat", r"line 1 has more than 1048576 bytes; put one sentence on each line"),
    ],
)
def test_a_damaged_file_is_refused_by_its_line_and_leaves_nothing(
    root: Path, content: bytes, message: str
) -> None:
    folder = published(root, lines(100, 8))
    (folder / "books_large_p2.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        load_store(words=9)
    assert not (root.parent / "cache").exists()


def test_a_folder_without_text_and_one_with_too_little_are_refused(root: Path) -> None:
    assert not present()
    folder = published(root)
    assert present()
    with pytest.raises(DataError, match=r"bookcorpus has no \.txt files, .* remove the folder to"):
        load_store(words=9)
    (folder / "few.txt").write_text("\n".join(lines(35, 9)))
    with pytest.raises(DataError, match="has 35 sentences; training and validation need at least 36"):
        load_store(words=9)


def test_files_that_change_while_they_are_read_are_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = published(root, lines(100, 10))
    read = bookcorpus._known

    def spoiled(*arguments: object) -> object:
        yield from read(*arguments)  # type: ignore[arg-type]
        (folder / "books_large_p1.txt").write_text("\n".join(lines(101, 10)))

    monkeypatch.setattr(bookcorpus, "_known", spoiled)
    with pytest.raises(DataError, match="changed while it was read"):
        load_store(words=9)
    assert not list((root.parent / "cache" / "bookcorpus").iterdir())


def test_a_damaged_store_and_a_full_disk_are_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published(root, lines(100, 11))
    store = load_store(words=9)
    place = Path(str(store.numbers.base.filename))
    place.write_bytes(place.read_bytes()[:-4])
    with pytest.raises(DataError, match=r"is damaged \(numbers has \d+ bytes for \d+ numbers\); remove it"):
        load_store(words=9)
    monkeypatch.setattr(bookcorpus.shutil, "disk_usage", lambda place: type("", (), {"free": 0}))
    with pytest.raises(DataError, match=r"has 0.0 GB left; make room, or set LNLIB_CACHE"):
        load_store(words=8)

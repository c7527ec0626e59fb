"""Data that only a user can have: each small copy in its published form is read, each damaged one refused."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lnbook.data import DataError, loaded
from lnbook.data.bookcorpus import load_store
from lnbook.data.captions import load_features
from lnbook.data.iam import ALPHABET, read_line
from lnbook.data.mpqa import load_mpqa
from lnbook.data.strokes import Wanted, load_lines
from lnbook.data.text import tokenize
from lnbook.data.word2vec import load_word2vec

XML = """<?xml version="1.0"?>
<WhiteboardCaptureSession><WhiteboardDescription/><StrokeSet>
<Stroke><Point x="895" y="992" time="769.05"/><Point x="898" y="996" time="769.06"/></Stroke>
<Stroke><Point x="910" y="990" time="770.1"/></Stroke>
</StrokeSet></WhiteboardCaptureSession>
"""
VECTORS = np.arange(18, dtype="<f4").reshape(6, 3)
VECTORS[1] = np.frombuffer(b" \n \n" * 3, "<f4")  # blanks and line ends, as any numbers' bytes may be
WORDS = ("</s>", "in", "café", "New_York", "cat", "a")


def put(folder: Path, name: str, text: str | bytes) -> None:
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, with a small set of each kind."""
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    load_lines.cache_clear()
    for number in range(5):
        form, folder = f"a01-00{number}u", f"a01/a01-00{number}"
        put(tmp_path, f"iam_ondb/ascii/{folder}/{form}.txt", "OCR:\n\nA\n\nCSR:\n\nA move to\nMr. G (so)\n")
        for line in (1, 2):
            put(tmp_path, f"iam_ondb/lineStrokes/{folder}/{form}-0{line}.xml", XML)
    for name, forms in (("trainset", (0, 1, 2)), ("testset_v", (3,)), ("testset_f", (4,))):
        put(tmp_path, f"iam_ondb/{name}.txt", "".join(f"a01-00{k}u\n" for k in forms))
    for name, word in (("pos", "good"), ("neg", "bad\u0085")):
        put(tmp_path, f"mpqa/mpqa.{name}", "".join(f"so {word} {k}\n" for k in range(12)).encode("latin-1"))
    rows = [w.encode() + b" " + v.tobytes() + b"\n" for w, v in zip(WORDS, VECTORS, strict=True)]
    put(tmp_path, "word2vec/news.bin", b"6 3\n" + b"".join(rows))
    for number in (1, 2):
        lines = ["`` Do n't , '' said Mrs. Green-Hill 's cat .", "a cat", *["the mat ."] * 34]
        put(tmp_path, f"bookcorpus/books_large_p{number}.txt", "\n".join(lines) + "\n")
    for k, name in enumerate(("train", "val", "test")):
        put(tmp_path, f"coco_vgg/{name}.txt", "".join(f"caption {c} of {name}\n" for c in range(15)))
        (tmp_path / "coco_vgg/images/10crop").mkdir(parents=True, exist_ok=True)
        vectors = np.random.default_rng(k).normal(size=(3, 8)).astype(np.float32)
        np.save(tmp_path / "coco_vgg/images/10crop" / f"{name}.npy", vectors)
    return tmp_path


def test_handwriting_is_read_line_by_line_in_the_parts_of_its_lists(root: Path) -> None:
    np.testing.assert_array_equal(read_line(XML), [[895, -992, 0], [898, -996, 1], [910, -990, 1]])
    lines = load_lines("iam_ondb", Wanted(train=99, valid=99, test=99))
    assert [len(part.points) for part in (lines.train, lines.valid, lines.test)] == [6, 2, 2]
    (second,) = (text for text in lines.valid.texts.tolist() if text[0] == ALPHABET.index("M"))
    assert "".join(ALPHABET[k] for k in second) == "Mr. G ?so?"
    assert len(set(ALPHABET)) == 57
    assert "testset_v.txt" in lines.provenance["parts"]


def test_phrases_are_read_with_their_classes() -> None:
    found, provenance = load_mpqa()
    assert found.texts[:2] == ("so good 0", "so good 1")
    assert found.labels.tolist() == [1] * 12 + [0] * 12
    assert (provenance["cases"], provenance["source"]) == (24, "LNLIB_DATA")
    assert provenance in loaded()


def test_the_wanted_vectors_are_read_and_no_others() -> None:
    found, size, provenance = load_word2vec(["cat", "café", "in", "zebra", "new_york"])
    assert (size, provenance["file"]) == (3, "news.bin")
    assert list(found) == ["in", "café", "cat"]
    for word, vector in found.items():
        np.testing.assert_array_equal(vector, VECTORS[WORDS.index(word)])


def test_sentences_are_numbers_of_the_most_frequent_words_before_the_held_out_ones() -> None:
    store = load_store(words=4)
    assert store.held == 6
    assert len(store.offsets) - 1 == 36 + 1 + 36
    assert set(store.vocabulary.words[3:]) == {"the", "mat", ".", '"'}
    sentences = [
        store.vocabulary.decode(store.numbers[a:b].tolist())
        for a, b in zip(store.offsets, store.offsets[1:], strict=False)
    ]
    whole = ['"', *tokenize("Do n't ,"), '"', *tokenize("said Mrs. Green-Hill 's cat .")]
    assert [word in (got, "the") for word, got in zip(whole, sentences[0], strict=True)].count(False) == len(
        [word for word in whole if word not in store.vocabulary.words]
    )
    assert sentences[36] == []
    assert sentences[-1] == ["the", "mat", "."]
    assert store.provenance["cases"] == 72


def test_the_papers_features_are_read_and_scaled(root: Path) -> None:
    parts = load_features().parts
    assert parts["valid"].texts[7] == "caption 7 of val"
    assert parts["test"].owner.tolist() == [k // 5 for k in range(15)]
    raw = np.load(root / "coco_vgg/images/10crop/test.npy")
    expected = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(parts["test"].features, expected, atol=1e-6)  # float32


LOADERS: dict[str, Callable[[], object]] = {
    "iam_ondb": lambda: load_lines("iam_ondb", Wanted(1, 1, 1)),
    "mpqa": load_mpqa,
    "word2vec": lambda: load_word2vec(["a"]),
    "bookcorpus": lambda: load_store(4),
    "coco_vgg": load_features,
}
LINE, FORM = (f"iam_ondb/{kind}/a01/a01-000/a01-000u" for kind in ("lineStrokes", "ascii"))
NPY = "coco_vgg/images/10crop/train.npy"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (f"{LINE}-01.xml", "<a><StrokeSet>", "no line of IAM-OnDB.*: no element found"),
        (f"{LINE}-01.xml", "<a></a>", "0 points, which must be at least one"),
        (f"{LINE}-01.xml", XML.replace('"895"', '"nan"'), "finite"),
        (f"{LINE}-03.xml", XML, "a01-000u-03.xml is no line of IAM-OnDB, or not in .*a01-000u.txt"),
        (f"{LINE[:-1]}z-01.xml", XML, "a01-000z.txt cannot be read"),
        (f"{FORM}.txt", "OCR:\n\nA move\n", "or not in .*a01-000u.txt"),
        ("iam_ondb/trainset.txt", "a01-000u\nb01-000u\n", "no lines for 1 of the 2 forms"),
        ("iam_ondb/trainset.txt", "", "trainset.txt is empty or no text"),
        ("mpqa/mpqa.pos", "good\n" * 9, r"has \[9, 12\] phrases; 10 folds need 10"),
        ("mpqa/mpqa.pos", "good\n".encode("utf-16-le"), "mpqa.pos is empty or no text"),
        ("word2vec/news.bin", b"\x1f\x8b\x08", "does not begin with two numbers"),
        ("word2vec/news.bin", b"2 3\na " + VECTORS[0].tobytes(), "breaks off at word 2 of 2"),
        ("word2vec/news.bin", b"1 1\na " + np.float32(np.inf).tobytes(), "vector of 'a' is not finite"),
        ("word2vec/more.bin", b"1 1\n", "must hold one .bin file of vectors, but holds 2"),
        ("bookcorpus/books_large_p1.txt", b"\xff\xfe", "books_large_p1.txt is not UTF-8 text"),
        (NPY, b"\x93NUMPY", "no .npy file of features"),
        (NPY, np.ones((3, 8), np.float32).tobytes(), "no .npy file of features"),
        ("coco_vgg/train.txt", "one\n" * 14, r"the shape \(3, 8\) for 14 captions"),
        ("coco_vgg/train.txt", b"\xff", "train.txt is not utf-8-sig text"),
    ],
)
def test_a_damaged_file_is_refused_by_its_name(root: Path, file: str, content: str, message: str) -> None:
    name = file.split("/")[0]
    LOADERS[name]()
    load_lines.cache_clear()
    put(root, file, content)
    with pytest.raises(DataError, match=message):
        LOADERS[name]()


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0])
def test_features_without_a_direction_are_refused(root: Path, value: float) -> None:
    np.save(root / NPY, np.full((3, 8), value, np.float32))
    with pytest.raises(DataError, match="finite and not zero"):
        load_features()
    np.save(root / NPY, np.array([[{}]]), allow_pickle=True)  # a pickle, as an attacker would make one
    with pytest.raises(DataError, match=r"no \.npy file of features"):
        load_features()


@pytest.mark.parametrize("name", LOADERS)
def test_what_a_user_does_not_have_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, root: Path, name: str
) -> None:
    for value in ("", str(root / "mpqa")):
        monkeypatch.setenv("LNLIB_DATA", value)
        with pytest.raises(DataError, match=rf"no folder \$LNLIB_DATA/{name}, and lnbook cannot fetch it\. "):
            LOADERS[name]()

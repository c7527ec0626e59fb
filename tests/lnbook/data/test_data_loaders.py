"""Every loader: what it gives from files as they are published, and the answer to others."""

import dataclasses
import functools
import gzip
import hashlib
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lnbook import data
from lnbook.data import DATA_SETS, DataError
from lnbook.data.books import load_books
from lnbook.data.captions import CLASSES, above, featurize, load_captions, load_features
from lnbook.data.iam import ALPHABET
from lnbook.data.images import NO_LABEL
from lnbook.data.readings import load_readings
from lnbook.data.sentences import CLASSIFICATIONS, load_labelled, load_pairs
from lnbook.data.sources import DataSet, PublishedFile
from lnbook.data.strokes import Wanted, load_lines

LOADERS: dict[str, Callable[..., Any]] = {
    "coco_captions": load_captions,
    "scenes": functools.partial(load_captions, "scenes"),
    "gutenberg": load_books,
    "python_topics": functools.partial(load_books, name="python_topics"),
    "sentence_classification": load_labelled,
    "sentence_templates": functools.partial(load_labelled, "sentence_templates"),
    "sick": load_pairs,
    "omniglot_strokes": functools.partial(load_lines, "omniglot_strokes", Wanted(1, 1, 1)),
    "generated_strokes": functools.partial(load_lines, "generated_strokes", Wanted(1, 1, 1)),
    "stories": functools.partial(load_readings, "stories", limit=9),
}
RESULTS = Path(__file__).resolve().parents[3] / "book" / "results"
RUNS = [json.loads(path.read_text()) for path in RESULTS.glob("*/*.json")]
READ = [entry for run in RUNS for entry in run.get("data", []) if "sha256" in entry]
# but for what is read in another form, too, and for lines, of which there are as many as are asked for
RECORDED = {e["name"]: e["sha256"] for e in READ if e["name"] not in ("gutenberg", "generated_strokes")}


@pytest.mark.parametrize("name", [name for name in DATA_SETS if data.find(name) != "absent"])
def test_a_data_set_at_hand_is_loaded_and_says_what_it_is(name: str) -> None:
    found = LOADERS.get(name, functools.partial(data.load, name))()
    provenance = found[1] if isinstance(found, tuple) else found.provenance
    assert (provenance["name"], provenance["requested"]) == (name, name)
    assert provenance["source"] == data.find(name)
    assert provenance.get("sha256") == RECORDED.get(name, provenance.get("sha256"))
    assert name in [entry["name"] for entry in data.loaded()]


# ------------------------------------------------------------------------------- pictures

IDX = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
DRAW = np.random.default_rng(0)
GREY = DRAW.integers(0, 256, (30, 5, 4)).astype(np.uint8)
BINARY = DRAW.integers(0, 2, (10, 28, 28)).astype(np.uint8)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


Put = Callable[..., str]


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """A function that registers files as a data set and puts them into the user's folder."""

    def write(files: dict[str, bytes], name: str = "small") -> str:
        listed = [PublishedFile(n, hashlib.sha256(b).hexdigest(), len(b)) for n, b in files.items()]
        entry = DATA_SETS.get(name, DataSet(name, "", "CC0", "the tests"))
        monkeypatch.setitem(DATA_SETS, name, dataclasses.replace(entry, files=listed))
        monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
        (tmp_path / name).mkdir()
        for file, body in files.items():
            (tmp_path / name / file).write_bytes(body)
        return name

    return write


@pytest.mark.parametrize("packed", [True, False])
def test_pictures_in_mnists_form_are_split_as_the_paper_counts_and_scaled(put: Put, packed: bool) -> None:
    arrays = (GREY[:24], np.arange(24, dtype=np.uint8), GREY[24:], np.arange(6, dtype=np.uint8))
    files = {f"{name}-ubyte": idx(a) for name, a in zip(IDX, arrays, strict=True)}
    images = data.load(put({f"{n}.gz": gzip.compress(b) for n, b in files.items()} if packed else files))
    np.testing.assert_array_equal(images.train_x, GREY[:22])
    np.testing.assert_array_equal(images.valid_x, GREY[22:24])
    np.testing.assert_array_equal(images.valid_y, [22, 23])
    assert images.provenance["cases"] == 30
    flat, labels = images.flat("test")
    assert flat.dtype == np.float32
    np.testing.assert_allclose(flat * 255, GREY[24:].reshape(6, -1), rtol=1e-6)  # float32
    np.testing.assert_array_equal(labels, np.arange(6))


def test_binarized_pictures_have_no_labels(put: Put) -> None:
    parts = {"train": BINARY[:5], "valid": BINARY[5:8], "test": BINARY[8:]}
    text = {part: "".join(" ".join(map(str, row.ravel())) + "\n" for row in x) for part, x in parts.items()}
    images = data.load(put({f"small_{part}.amat": text[part].encode() for part in parts}))
    for part, x in parts.items():
        np.testing.assert_array_equal(getattr(images, f"{part}_x"), x)
        assert (getattr(images, f"{part}_y") == NO_LABEL).all()
    assert images.peak == 1


def test_digits_are_split_and_binarized() -> None:
    images, binary = data.load("digits"), data.load("binarized_digits")
    assert (len(images.train_x), len(images.valid_x), len(images.test_x)) == (1318, 119, 360)
    assert (images.peak, images.train_x.max(), binary.peak) == (16, 16, 1)
    np.testing.assert_array_equal(binary.test_x, images.test_x >= 8)


def test_files_that_hold_no_pictures_are_refused(put: Put) -> None:
    with pytest.raises(DataError, match="small holds no pictures"):
        data.load(put({"words.txt": b"some words"}))


# ------------------------------------------------------------------------------- captions and sentences

PICTURES = 1600  # of 1,620; the last 20 have no box


def test_captions_are_joined_with_the_boxes_of_their_picture(put: Put) -> None:
    numbers = [7 * k + 1 for k in range(PICTURES + 20)]
    images = [{"id": n, "width": 200, "height": 100} for n in numbers]
    told = [(n, f"caption {k}  of {n}") for n in numbers for k in range(6 if n % 700 == 1 else 5)]
    notes = [{"image_id": n, "id": k, "caption": text} for k, (n, text) in enumerate(told)]
    random.Random(0).shuffle(notes)
    boxes = [f" 20,10,{30 + n % 50},40,{n % 80}" for n in numbers[:PICTURES]] + [""] * 20
    lines = "\n".join(f"/some/where/{n:012}.jpg{box}" for n, box in zip(numbers, boxes, strict=True))
    content = json.dumps({"images": images, "annotations": notes})
    put({"captions_val2017.json": content.encode(), "val2017.txt": lines.encode()}, "coco_captions")
    found = load_captions("coco_captions")
    parts = found.parts
    assert (len(found.classes), found.classes[0], found.classes[22]) == (80, "person", "zebra")
    assert [len(parts[name].features) for name in ("train", "valid", "test")] == [100, 500, 1000]
    seen = set()
    for part in parts.values():
        for k in range(len(part.features)):
            texts = [part.texts[c] for c in np.flatnonzero(part.owner == k)]
            number = int(texts[0].split()[-1])
            assert texts == [f"caption {c} of {number}" for c in range(6 if number % 700 == 1 else 5)]
            assert part.boxes[k].corners.tolist() == [[20, 10, 30 + number % 50, 40]]
            assert part.boxes[k].classes.tolist() == [number % 80]
            np.testing.assert_array_equal(part.features[k], featurize(part.boxes[k], 80))
            seen.add(number)
        five = part.first(5)
        assert np.bincount(five.owner).tolist() == [5] * len(part.features)
        assert all(text.startswith("caption 5") for text in set(part.texts) - set(five.texts))
    assert len(seen) == PICTURES  # none twice, and none of those without a box


def test_the_scenes_captions_and_features_are_those_of_their_scene() -> None:
    for part in load_captions("scenes").parts.values():
        scenes, told = part.meaning
        assert len(told) == len(part.texts) == 5 * len(scenes)
        assert all(above(text, scenes[own]) for text, own in zip(told, part.owner, strict=True))
        assert all(above(scene, all_of_it) for scene, all_of_it in zip(scenes, told[::5], strict=True))
        np.testing.assert_array_equal(part.features[-1], featurize(part.boxes[-1], len(CLASSES)))
        assert len(part.first(2).meaning[1]) == 2 * len(scenes)


def test_sicks_pairs_are_read_as_published(put: Put) -> None:
    body = b'pair_ID\tsentence_A\tsentence_B\trelatedness_score\n1\tA "b"\tC d\t4.5\tNEUTRAL\n'
    put(dict.fromkeys(("SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"), body), "sick")
    found = load_pairs()[0]["trial"]
    assert (found.first, found.second, found.scores.tolist()) == (('A "b"',), ("C d",), [4.5])


SETS = ("sentence_classification", "sick")


@pytest.mark.skipif({data.find(n) for n in SETS} != {"LNLIB_DATA"}, reason="needs the files in $LNLIB_DATA")
def test_published_sentences_have_their_known_sizes() -> None:
    tasks, parts = load_labelled()[0], load_pairs()[0]
    sizes = [10_662, 3_771, 10_000, 45_867]  # 3,775 and 45,875 less the empty lines
    assert [len(tasks[task].texts) for task in CLASSIFICATIONS] == sizes
    assert [len(pairs.scores) for pairs in parts.values()] == [4_500, 500, 4_927]
    assert round(float(tasks["cr"].labels.mean()), 3) == 0.638
    assert not any("<" in text for text in tasks["pros_cons"].texts[:100])


# ------------------------------------------------------------------------------- what only a user can have

STROKES = """<?xml version="1.0"?>
<WhiteboardCaptureSession><WhiteboardDescription/><StrokeSet>
<Stroke><Point x="895" y="992" time="769.05"/><Point x="898" y="996" time="769.06"/></Stroke>
<Stroke><Point x="910" y="990" time="770.1"/></Stroke>
</StrokeSet></WhiteboardCaptureSession>
"""
QUESTION = """http://cnn

@entity7 met @entity12 . @entity7 left . '' it rained . they ate . @entity12 slept .

@placeholder met @entity12

@entity7

@entity7:Ann
@entity12:Bob
"""
USERS: dict[str, Callable[[], Any]] = {
    "iam_ondb": lambda: load_lines("iam_ondb", Wanted(99, 99, 99)),
    "coco_vgg": load_features,
    "cnn": lambda: load_readings("cnn", markers=3),
}


def store(folder: Path, name: str, text: str | bytes) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(text.encode() if isinstance(text, str) else text)


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, with a small set of each kind."""
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    for loader in (load_lines, load_readings):
        loader.cache_clear()
    for number in range(5):
        form, folder = f"a01-00{number}u", f"a01/a01-00{number}"
        store(tmp_path, f"iam_ondb/ascii/{folder}/{form}.txt", "OCR:\n\nA\n\nCSR:\n\nA move to\nMr. G (so)\n")
        for line in (1, 2):
            store(tmp_path, f"iam_ondb/lineStrokes/{folder}/{form}-0{line}.xml", STROKES)
    for name, forms in (("trainset", (0, 1, 2)), ("testset_v", (3,)), ("testset_f", (4,))):
        store(tmp_path, f"iam_ondb/{name}.txt", "".join(f"a01-00{k}u\n" for k in forms))
    for name in ("train", "val", "test"):
        store(tmp_path, f"coco_vgg/{name}.txt", "".join(f"caption {c} of {name}\n" for c in range(15)))
        (tmp_path / "coco_vgg/images/10crop").mkdir(parents=True, exist_ok=True)
        np.save(tmp_path / "coco_vgg/images/10crop" / f"{name}.npy", np.float32([[3, 4]] * 3))
    for part in ("training", "validation"):
        store(tmp_path, f"cnn/questions/{part}/a.question", QUESTION)
    return tmp_path


def test_handwriting_is_read_line_by_line_in_the_parts_of_its_lists(users: Path) -> None:
    lines = USERS["iam_ondb"]()
    assert [len(part.points) for part in (lines.train, lines.valid, lines.test)] == [6, 2, 2]
    pen = (lines.valid.points[0] * [*lines.scale, 1]).tolist()
    assert pen == [pytest.approx(point) for point in ([0, 0, 1], [3, -4, 1], [12, 6, 1])]
    (second,) = (text for text in lines.valid.texts.tolist() if text[0] == ALPHABET.index("M"))
    assert "".join(ALPHABET[k] for k in second) == "Mr. G ?so?"
    assert len(set(ALPHABET)) == 57


def test_the_papers_features_are_read_and_scaled(users: Path) -> None:
    parts = load_features().parts
    assert parts["valid"].texts[7] == "caption 7 of val"
    assert parts["test"].owner.tolist() == [k // 5 for k in range(15)]
    np.testing.assert_allclose(parts["test"].features, [[0.6, 0.8]] * 3, atol=1e-6)  # float32


def test_of_cnns_passages_the_sentences_are_kept_that_share_rare_words_with_the_query(users: Path) -> None:
    (question,) = USERS["cnn"]().questions
    Ann, Bob = question.answer, question.query[-1]
    assert (question.names[Ann], question.names[Bob]) == ("Ann", "Bob")
    # Bob, whom the query names, met and slept: more than the sentences of rain and food, of which the first
    assert " ".join(question.passage) == f"{Ann} met {Bob} . {Ann} left . '' it rained . {Bob} slept ."


LINE, FORM = (f"iam_ondb/{kind}/a01/a01-000/a01-000u" for kind in ("lineStrokes", "ascii"))
NPY = "coco_vgg/images/10crop/train.npy"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (f"{LINE}-01.xml", "<a><StrokeSet>", "no element found"),
        (f"{FORM}.txt", "OCR:\n\nA move\n", "out of range"),
        ("iam_ondb/trainset.txt", "a01-000u\nb01-000u\n", "1 of its 2 forms are not in lineStrokes/"),
        (NPY, np.ones((3, 8), np.float32).tobytes(), "pickled"),
        ("coco_vgg/train.txt", "one\n" * 14, "3 vectors for 14 captions"),
        ("cnn/questions/training/a.question", QUESTION.replace("@placeholder", "who"), "no @placeholder"),
    ],
)
def test_a_damaged_file_is_refused_by_its_name(users: Path, file: str, content: str, message: str) -> None:
    store(users, file, content)
    with pytest.raises(DataError, match=rf"is not as it was published \(.*{message}.*get it again"):
        USERS[file.split("/")[0]]()


@pytest.mark.parametrize("name", USERS)
def test_what_a_user_does_not_have_is_an_error_that_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, users: Path, name: str
) -> None:
    monkeypatch.setenv("LNLIB_DATA", str(users / "iam_ondb"))
    with pytest.raises(DataError, match=rf"no folder \$LNLIB_DATA/{name}, and lnbook cannot fetch it\. "):
        USERS[name]()

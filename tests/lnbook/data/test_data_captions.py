"""Captions: COCO's files joined, and the scenes that stand in."""

import gzip
import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

from lnbook import data
from lnbook.data import DataSet, PublishedFile
from lnbook.data.boxes import featurize
from lnbook.data.captions import load_captions
from lnbook.data.scenes import CLASSES, above

PICTURES = 1600  # of 1,620; the last 20 have no box


def coco(folder: Path) -> dict[str, bytes]:
    """Files in COCO's form: every 100th picture has six captions, the others five, in shuffled order."""
    draw = np.random.default_rng(0)
    numbers = [7 * k + 1 for k in range(PICTURES + 20)]
    images = [{"id": n, "width": 200, "height": 100} for n in numbers]
    told = [(n, f"caption {k}  of {n}") for n in numbers for k in range(6 if n % 700 == 1 else 5)]
    notes = [{"image_id": n, "id": k, "caption": text} for k, (n, text) in enumerate(told)]
    notes = [notes[k] for k in draw.permutation(len(notes))]
    lines = [f"/some/where/{n:012}.jpg 20,10,{30 + n % 50},40,{n % 80}" for n in numbers[:PICTURES]]
    lines += [f"/some/where/{n:012}.jpg" for n in numbers[PICTURES:]]
    content = json.dumps({"images": images, "annotations": notes}).encode()
    return {"captions_val2017.json": content, "val2017.txt": "\n".join(lines).encode()}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "coco_captions"
    place.mkdir()
    files = []
    for name, content in coco(place).items():
        (place / f"{name}.gz").write_bytes(gzip.compress(content, mtime=0))
        files.append(PublishedFile(name, hashlib.sha256(content).hexdigest(), len(content)))
    small = DataSet("coco_captions", "small", tuple(files), (), "none", "the tests", "scenes")
    monkeypatch.setitem(data.DATA_SETS, "coco_captions", small)
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    return tmp_path


def test_captions_are_joined_with_the_boxes_of_their_picture(folder: Path) -> None:
    found = load_captions("coco_captions", on_stand_in="error")
    assert found.provenance["source"] == "LNLIB_DATA"
    parts = found.parts
    assert (len(found.classes), found.classes[0], found.classes[22]) == (80, "person", "zebra")
    assert {name: len(part.features) for name, part in parts.items()} == {
        "train": 100,
        "valid": 500,
        "test": 1000,
    }
    seen = set()
    for part in parts.values():
        assert len(part.texts) == len(part.owner)
        for k in range(len(part.features)):
            texts = [part.texts[c] for c in np.flatnonzero(part.owner == k)]
            number = int(texts[0].split()[-1])
            assert texts == [f"caption {c} of {number}" for c in range(6 if number % 700 == 1 else 5)]
            assert part.boxes[k].corners.tolist() == [[20, 10, 30 + number % 50, 40]]
            assert part.boxes[k].classes.tolist() == [number % 80]
            np.testing.assert_array_equal(part.features[k], featurize(part.boxes[k], 80))
            seen.add(number)
    assert len(seen) == PICTURES  # none twice, and none of those without a box


def test_the_first_five_captions_are_kept(folder: Path) -> None:
    for part in load_captions("coco_captions").parts.values():
        five = part.first(5)
        assert np.bincount(five.owner).tolist() == [5] * len(part.features)
        assert all(text.startswith("caption 5") for text in set(part.texts) - set(five.texts))


def test_the_scenes_captions_are_true_and_their_features_are_those_of_their_boxes() -> None:
    for part in load_captions("scenes").parts.values():
        scenes, told = part.meaning
        assert len(scenes) == len(part.features) == len(part.boxes)
        assert len(told) == len(part.texts) == 5 * len(scenes)
        assert all(above(text, scenes[own]) for text, own in zip(told, part.owner, strict=True))
        np.testing.assert_array_equal(part.features[-1], featurize(part.boxes[-1], len(CLASSES)))
        assert len(part.first(2).meaning[1]) == 2 * len(scenes)
        np.testing.assert_allclose(np.linalg.norm(part.features, axis=1), 1, atol=1e-6)  # float32

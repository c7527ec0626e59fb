"""Karpathy's split of COCO with a file of features, in their published form, and what is wrong with them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lnbook.data import DataError, loaded
from lnbook.data.captions import load_features
from lnbook.data.karpathy import read_split
from lnbook.pages.sec6_1_order_embeddings.experiment import EXPERIMENT
from lnbook.training import Machine

SPLITS = ("val", "test", "train", "restval", "test", "train")


def picture(number: int, split: str, captions: int = 5) -> dict[str, Any]:
    said = [
        {
            "tokens": ["a", f"caption{k}", "of", str(number)],
            "raw": f"A caption{k} of {number}.",
            "imgid": number,
        }
        for k in range(captions)
    ]
    name = f"COCO_val2014_{number:012}.jpg"
    return {"filename": name, "cocoid": number, "split": split, "sentences": said, "imgid": number}


def published(folder: Path, splits: tuple[str, ...] = SPLITS, **changes: Any) -> Path:
    """A list as published, with six captions for every second picture; `changes` apply to the third one."""
    images = [picture(100 + k, split, 5 + k % 2) for k, split in enumerate(splits)]
    images[2] |= changes
    path = folder / "dataset_coco.json"
    path.write_text(json.dumps({"images": images, "dataset": "coco"}))
    return path


def features(folder: Path, rows: int = len(SPLITS), name: str = "10crop") -> np.ndarray:
    (folder / "images").mkdir()
    made = np.random.default_rng(0).normal(size=(rows, 8)).astype(np.float32)
    np.save(folder / "images" / f"{name}.npy", made)
    return made


def test_each_part_has_its_pictures_and_restval_joins_train(tmp_path: Path) -> None:
    published(tmp_path)
    raw = features(tmp_path)
    found = load_features(tmp_path)
    rows = {"train": [2, 3, 5], "valid": [0], "test": [1, 4]}
    for part, expected in rows.items():
        held = found.parts[part]
        unit = raw[expected] / np.linalg.norm(raw[expected], axis=1, keepdims=True)
        np.testing.assert_allclose(held.features, unit, atol=1e-6)  # float32
        assert held.texts == [f"a caption{k} of {100 + row}" for row in expected for k in range(5)]
        assert held.owner.tolist() == [k // 5 for k in range(5 * len(expected))]
    assert found.provenance["layout"] == "dataset_coco.json, images/10crop.npy"
    assert found.provenance in loaded()


def test_texts_of_the_archive_come_before_the_list(tmp_path: Path) -> None:
    published(tmp_path)
    features(tmp_path)
    (tmp_path / "train.txt").write_text("a dog\n" * 5)
    with pytest.raises(DataError, match=r"10crop/train\.npy is not there"):
        load_features(tmp_path)


def test_the_papers_scale_ranks_five_sets_of_a_thousand_pictures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    splits = ("train",) * 30 + ("restval",) * 10 + ("val",) * 10 + ("test",) * 5000
    folder = tmp_path / "coco_vgg"
    folder.mkdir()
    published(folder, splits)
    features(folder, len(splits))
    monkeypatch.setenv("LNLIB_DATA", str(tmp_path))
    job = {**EXPERIMENT.jobs("paper", 0)[0], "units": 4, "word_size": 4, "vocabulary": 20, "batch_size": 8}
    task = EXPERIMENT.task(job, "paper", Machine())
    assert task.last_parts is not None
    sizes: list[tuple[int, int]] = []
    errors = task.model.errors

    def noted(captions: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
        sizes.append((len(captions), len(images)))
        return errors(captions, images)

    monkeypatch.setattr(task.model, "errors", noted)
    with torch.no_grad():
        task.evaluate(task.model, "test", task.last_parts["test"])
    assert sizes == [(5000, 1000)] * 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"split": "dev"},
            r"picture 2 of \"images\" has cocoid 102 and split 'dev'; .* train, restval, val, test",
        ),
        ({"cocoid": "102"}, r"has cocoid '102' and split 'train'"),
        ({"cocoid": 101}, r"picture 2 of \"images\" has cocoid 101, as an earlier picture has"),
        (
            {"sentences": [{"tokens": ["a"]}] * 4},
            r"\(cocoid 102\) has 4 captions with words among its first 5",
        ),
        ({"sentences": [{"tokens": [" "]}] * 5}, "has 0 captions with words"),
        ({"sentences": [{"tokens": "a dog"}] * 5}, "tokens must be a list"),
        ({"sentences": [{"raw": "a dog"}] * 5}, r'needs "cocoid", "split" and "sentences" with "tokens"'),
        ({"split": ["train"]}, r"split \['train'\]"),
    ],
)
def test_a_picture_that_is_not_as_published_is_named(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_split(published(tmp_path, **changes))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has 0 bytes"),
        (b'{"images": [', "is not complete JSON"),
        (b"[" * 100_000, "is not complete JSON"),
        (b"[1, 2]", 'it has no "images"'),
        (b'{"images": []}', "lists 0 pictures, but none for train, valid, test"),
        (b'{"images": [7]}', 'picture 0 of "images" is not as published'),
        ('{"images": []}'.encode("utf-16"), "is not UTF-8 text"),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "dataset_coco.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_split(path)


def test_features_need_one_row_per_picture_and_a_direction(tmp_path: Path) -> None:
    published(tmp_path)
    with pytest.raises(
        DataError, match=r"10crop\.npy is not there; it must hold the features of the 6 pictures"
    ):
        load_features(tmp_path)
    made = features(tmp_path, rows=5)
    with pytest.raises(DataError, match=r"has 5 rows, but .*dataset_coco\.json lists 6 pictures; there must"):
        load_features(tmp_path)
    made = np.concatenate([made, made[:1]])
    made[3] = 0
    np.save(tmp_path / "images" / "10crop.npy", made)
    with pytest.raises(DataError, match="1 rows, the first is row 3, have no direction"):
        load_features(tmp_path)

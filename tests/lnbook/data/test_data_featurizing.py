"""A file of features row by row: resumed, never mixed, never half; and the command that computes it."""

import json
import resource
from pathlib import Path

import numpy as np
import pytest
import torch
from filelock import FileLock
from PIL import Image
from torch import Tensor, nn

from lnbook.__main__ import main
from lnbook.cli import features as command
from lnbook.data import DataError
from lnbook.data.captions import load_features
from lnbook.data.featurizing import featurize_pictures
from lnbook.data.karpathy import read_files
from lnbook.data.vgg import VGG

SPLITS = ("val", "test", "train", "restval", "test", "train")
SMALL = {"groups": ((2,), (3, 3)), "units": 5, "classes": 4, "side": 224}


class Colors(nn.Module):
    """Means and largest values of each channel; counts the pictures and may stop at one of them."""

    def __init__(self, stop: int = -1) -> None:
        super().__init__()
        self.calls, self.stop = 0, stop

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt
        return torch.cat([x.mean((2, 3)), x.amax((2, 3))], 1)


def pictures(folder: Path, count: int = 5) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for k in range(count):
        pixels = np.random.default_rng(k).integers(0, 256, (30, 40, 3), dtype=np.uint8)
        paths.append(folder / f"{k}.png")
        Image.fromarray(pixels).save(paths[-1])
    return paths


def crops(image: Image.Image) -> Tensor:
    x = torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1) / 255
    return torch.stack([x, 2 * x])


def made(paths: list[Path], target: Path, network: Colors | None = None, weights: str = "w") -> np.ndarray:
    featurize_pictures(paths, network or Colors(), weights, target, units=6, crops=crops, progress=False)
    return np.load(target)


def test_a_row_is_the_mean_over_crops(tmp_path: Path) -> None:
    paths = pictures(tmp_path / "in")
    found = made(paths, tmp_path / "out" / "f.npy")
    assert found.dtype == np.float32
    for k, path in enumerate(paths):
        x = np.asarray(Image.open(path), dtype=np.float64) / 255
        expected = 1.5 * np.concatenate([x.mean((0, 1)), x.max((0, 1))])
        np.testing.assert_allclose(found[k], expected, rtol=1e-5)  # float32
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["f.npy"]


def test_an_interrupted_file_goes_on_where_it_stopped(tmp_path: Path) -> None:
    paths, target = pictures(tmp_path), tmp_path / "f.npy"
    with pytest.raises(KeyboardInterrupt):
        made(paths, target, Colors(stop=4))
    assert not target.exists()
    again = Colors()
    found = made(paths, target, again)
    assert again.calls == 2
    np.testing.assert_array_equal(found, made(paths, tmp_path / "whole.npy"))


def test_rows_of_other_pictures_or_weights_are_not_mixed(tmp_path: Path) -> None:
    paths, target = pictures(tmp_path), tmp_path / "f.npy"
    with pytest.raises(KeyboardInterrupt):
        made(paths, target, Colors(stop=4))
    for others, weights in ((paths, "v"), (paths[::-1], "w"), (paths[:3], "w")):
        with pytest.raises(DataError, match="is of other pictures or weights"):
            made(others, target, weights=weights)
    (tmp_path / "f.npy.json").unlink()
    with pytest.raises(DataError, match="damaged"):
        made(paths, target)


def test_a_damaged_picture_is_named_and_the_rows_before_it_stay(tmp_path: Path) -> None:
    paths, target = pictures(tmp_path), tmp_path / "f.npy"
    whole = paths[3].read_bytes()
    paths[3].write_bytes(whole[:50])
    with pytest.raises(DataError, match=r"3\.png is not a complete picture"):
        made(paths, target)
    paths[3].write_bytes(whole)
    again = Colors()
    made(paths, target, again)
    assert again.calls == 2


def test_a_finished_file_and_another_process_are_left_alone(tmp_path: Path) -> None:
    paths, target = pictures(tmp_path), tmp_path / "f.npy"
    with FileLock(tmp_path / "f.npy.lock"), pytest.raises(DataError, match="Another process computes"):
        made(paths, target)
    made(paths, target)
    with pytest.raises(DataError, match="is there already"):
        made(paths, target)


def test_without_room_for_the_file_nothing_is_computed(tmp_path: Path) -> None:
    paths, target, network = pictures(tmp_path / "in"), tmp_path / "out" / "f.npy", Colors()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, before[1]))  # bytes: the note, but not the rows
    try:
        with pytest.raises(DataError, match=r"for 5 rows of 6 numbers: .*too large"):
            made(paths, target, network)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert network.calls == 0
    assert list(target.parent.glob("f.npy.*")) in ([], [target.with_name("f.npy.lock")])
    made(paths, target)  # nothing half made stands in the way


def listed(folder: Path, **changes: object) -> list[str]:
    """Karpathy's list as published; `changes` apply to the third picture. Returns the names of the files."""
    images = [
        {
            "filepath": "val2014",
            "filename": f"COCO_val2014_{k:012}.png",
            "cocoid": k,
            "split": split,
            "sentences": [{"tokens": ["a", "caption"]}] * 5,
        }
        for k, split in enumerate(SPLITS)
    ]
    images[2] |= changes
    (folder / "dataset_coco.json").write_text(json.dumps({"images": images}))
    return [str(image["filename"]) for image in images]


def test_the_command_writes_what_the_paper_scale_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = listed(tmp_path)
    at = tmp_path / "jpg" / "val2014"
    for path, name in zip(pictures(at, len(names)), names, strict=True):
        Image.open(path).save(at / name)
    torch.manual_seed(0)
    torch.save(VGG(**SMALL).state_dict(), tmp_path / "vgg19.pth")
    monkeypatch.setattr(command, "load_vgg", lambda path: command_load(path, VGG(**SMALL)))
    monkeypatch.setattr(command, "UNITS", 5)
    arguments = [str(tmp_path), "--pictures", str(tmp_path / "jpg"), "--weights", str(tmp_path / "vgg19.pth")]
    assert main(["features", *arguments]) == 0
    assert f"{len(SPLITS)} vectors of 5 numbers" in capsys.readouterr().out
    vectors = np.load(tmp_path / "images" / "10crop.npy")
    assert vectors.shape == (len(SPLITS), 5)
    assert np.isfinite(vectors).all()
    read = load_features(tmp_path)
    row = vectors[1] / np.linalg.norm(vectors[1])
    np.testing.assert_allclose(read.parts["test"].features[0], row, rtol=1e-5)  # float32
    assert main(["features", *arguments, "--device", "cuda:99"]) == 1
    assert "--device cuda:99: torch finds" in capsys.readouterr().err
    (at / names[0]).unlink()
    (tmp_path / "images" / "10crop.npy").unlink()
    assert main(["features", *arguments]) == 1
    assert "1 of 6 pictures are not there" in capsys.readouterr().err


command_load = command.load_vgg


@pytest.mark.parametrize("name", ["../secret.jpg", "/etc/passwd", "", 3, "a/b.jpg"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: object) -> None:
    listed(tmp_path, filename=name)
    with pytest.raises(DataError, match="plain names"):
        read_files(tmp_path / "dataset_coco.json")


def test_files_are_named_with_their_folder_where_the_list_has_one(tmp_path: Path) -> None:
    names = listed(tmp_path, filepath="")
    found = read_files(tmp_path / "dataset_coco.json")
    assert found[1:3] == [f"val2014/{names[1]}", names[2]]

"""VGG-19 and its ten crops, against loops; files of weights and pictures that are not as they must be."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from lnbook.data import DataError
from lnbook.data.vgg import CONFIGURATION_E, VGG, load_vgg, picture, ten_crops

SMALL = {"groups": ((2,), (3, 3)), "units": 5, "classes": 4, "side": 8}


def photograph(width: int = 40, height: int = 30, seed: int = 0) -> Image.Image:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def saved(path: Path) -> VGG:
    torch.manual_seed(0)
    network = VGG(**SMALL)
    torch.save(network.state_dict(), path)
    return network


def test_the_network_is_configuration_e_with_torchvisions_names() -> None:
    with torch.device("meta"):
        held = VGG().state_dict()
    convolutions = [name for name, p in held.items() if p.ndim == 4]
    assert [held[name].shape[0] for name in convolutions] == [w for group in CONFIGURATION_E for w in group]
    assert convolutions[:3] == ["features.0.weight", "features.2.weight", "features.5.weight"]
    assert convolutions[-1] == "features.34.weight"
    assert len(convolutions) + sum(p.ndim == 2 for p in held.values()) == 19
    assert held["classifier.0.weight"].shape == (4096, 512 * 7 * 7)
    assert held["classifier.6.weight"].shape == (1000, 4096)
    assert sum(p.numel() for p in held.values()) == 143_667_240  # as torchvision documents for vgg19


def test_what_it_returns_is_the_second_layers_rectified_output() -> None:
    torch.manual_seed(0)
    network = VGG(**SMALL).eval()
    x = torch.randn(2, 3, 8, 8)
    one, two = network.classifier[0], network.classifier[3]
    assert isinstance(one, nn.Linear)
    assert isinstance(two, nn.Linear)
    h = x
    for layer in network.features:
        h = layer(h.clone())
    expected = two(one(h.flatten(1)).relu()).relu()
    torch.testing.assert_close(network(x), expected)
    assert network(x).shape == (2, 5)


@pytest.mark.parametrize(("width", "height"), [(40, 30), (30, 40), (16, 16), (8, 100)])
def test_crops_are_corners_and_center_of_the_resized_picture_and_their_mirror_images(
    width: int, height: int
) -> None:
    image = photograph(width, height)
    crops = ten_crops(image, shorter=16, side=8)
    long = max(16, round(16 / min(width, height) * max(width, height)))
    size = (16, long) if width < height else (long, 16)
    pixels = np.asarray(image.resize(size, Image.Resampling.BILINEAR), dtype=np.float64) / 255
    w, h = size
    starts = [(0, 0), (0, w - 8), (h - 8, 0), (h - 8, w - 8), (round((h - 8) / 2), round((w - 8) / 2))]
    for k, (top, left) in enumerate(starts):
        for channel, (mean, std) in enumerate(((0.485, 0.229), (0.456, 0.224), (0.406, 0.225))):
            expected = (pixels[top : top + 8, left : left + 8, channel] - mean) / std
            np.testing.assert_allclose(crops[k, channel], expected, atol=1e-5)  # float32 of numbers up to 3
            np.testing.assert_allclose(crops[5 + k, channel], expected[:, ::-1], atol=1e-5)


def test_weights_are_read_and_a_name_with_a_hash_is_held_to_it(tmp_path: Path) -> None:
    plain = tmp_path / "weights.pth"
    network = saved(plain)
    with torch.device("meta"):
        empty = VGG(**SMALL)
    read = load_vgg(plain, empty)
    x = torch.randn(2, 3, 8, 8)
    assert torch.equal(read(x), network.eval()(x))
    assert not any(p.requires_grad for p in read.parameters())
    digest = hashlib.sha256(plain.read_bytes()).hexdigest()
    good = plain.rename(tmp_path / f"vgg19-{digest[:8]}.pth")
    load_vgg(good, VGG(**SMALL))
    bad = good.rename(tmp_path / "vgg19-dcbb9e9d.pth")
    with pytest.raises(DataError, match=rf"should have a SHA-256 of dcbb9e9d..., and has {digest}"):
        load_vgg(bad, VGG(**SMALL))


def test_what_is_no_file_of_these_weights_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    with pytest.raises(DataError, match="cannot be read"):
        load_vgg(path)
    path.write_bytes(b"no weights")
    with pytest.raises(DataError, match="not a file of weights that torch reads safely"):
        load_vgg(path)
    torch.save({"classifier.0.weight": torch.zeros(2, 2)}, path)
    with pytest.raises(DataError, match="does not hold the weights of VGG-19"):
        load_vgg(path, VGG(**SMALL))
    torch.save([1, 2], path)
    with pytest.raises(DataError, match="does not hold the weights of VGG-19"):
        load_vgg(path, VGG(**SMALL))


class Harmful:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return print, ("code ran",)


def test_a_file_of_weights_runs_no_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"features.0.weight": Harmful()}, tmp_path / "weights.pth")
    with pytest.raises(DataError, match="reads safely"):
        load_vgg(tmp_path / "weights.pth", VGG(**SMALL))
    assert "code ran" not in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["L", "RGBA", "CMYK", "P"])
def test_pictures_of_any_colors_are_read_in_three(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "picture.tif"
    photograph().convert(mode).save(path)
    assert picture(path).mode == "RGB"
    assert picture(path).size == (40, 30)


def test_damaged_pictures_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "picture.png"
    photograph().save(path)
    whole = path.read_bytes()
    for content in (b"", b"no picture", whole[: len(whole) // 2]):
        path.write_bytes(content)
        with pytest.raises(DataError, match="not a complete picture"):
            picture(path)
    path.write_bytes(whole)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(DataError, match="not a complete picture"):
        picture(path)

r"""Pictures as vectors: VGG-19, ten crops, the features that Section 6.1 reads.

Of each picture the mean over ten crops of the 4,096 rectified outputs of the second fully connected layer.
The crops are the four corners and the center of 224 x 224 pixels, of a picture whose shorter side is brought
to 256, and their mirror images.

*Source* Simonyan and Zisserman (2015), configuration E; ten crops as Krizhevsky, Sutskever and Hinton (2012)
and Vendrov and others (2016), whose weights were Caffe's: by torchvision's, which these are, vectors differ.
"""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor, nn

from .dataset import DataError
from .users import check_plain

__all__ = ["CONFIGURATION_E", "SIDE", "UNITS", "VGG", "load_vgg", "picture", "ten_crops"]

CONFIGURATION_E = (
    (64,) * 2,
    (128,) * 2,
    (256,) * 4,
    (512,) * 4,
    (512,) * 4,
)  # a max pooling after each group
UNITS = 4096
SHORTER, SIDE = 256, 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet's channels, as torchvision has them
WEIGHTS_BYTES = 2**30  # at most; VGG-19 has 575 MB


class VGG(nn.Module):
    """The network, its parameters named as torchvision names them.

    Args:
        groups: channels of the convolutions of each group.
        units: of the first two fully connected layers.
        classes: of the third, which is read with the weights and not used.
        side: of the pictures.

    >>> VGG(((2,), (3,)), 5, 4, side=8)(torch.zeros(2, 3, 8, 8)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        groups: Sequence[Sequence[int]] = CONFIGURATION_E,
        units: int = UNITS,
        classes: int = 1000,
        side: int = SIDE,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels = 3
        for group in groups:
            for width in group:
                layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU(inplace=True)]
                channels = width
            layers.append(nn.MaxPool2d(2))
        left = side // 2 ** len(groups)
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            *(nn.Linear(channels * left**2, units), nn.ReLU(inplace=True), nn.Dropout()),
            *(nn.Linear(units, units), nn.ReLU(inplace=True), nn.Dropout()),
            nn.Linear(units, classes),
        )

    def forward(self, x: Float[Tensor, "N 3 S S"]) -> Float[Tensor, "N F"]:
        """The second fully connected layer's rectified outputs."""
        outputs: Tensor = self.classifier[:5](self.features(x).flatten(1))
        return outputs


def load_vgg(path: Path, network: VGG | None = None) -> VGG:
    """The network with weights in torchvision's form, such as its `vgg19-dcbb9e9d.pth`.

    Where the name ends in a hash, as theirs do, the file's SHA-256 must begin with it.

    Raises DataError for a file that is not plain, is damaged or holds anything but these weights.
    """
    check_plain(path, WEIGHTS_BYTES)
    if named := re.fullmatch(r".*-([0-9a-f]{8,64})\.pth", path.name):
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if not found.startswith(named[1]):
            raise DataError(f"{path} should have a SHA-256 of {named[1]}..., and has {found}; get it again.")
    try:
        held = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # zip, pickle and torch each have their own for a file that is not theirs
        raise DataError(f"{path} is not a file of weights that torch reads safely ({error}).") from error
    if network is None:
        with torch.device("meta"):  # 144 million first weights that nobody needs
            network = VGG()
    try:
        network.load_state_dict(held, assign=True)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise DataError(f"{path} does not hold the weights of VGG-19: {str(error)[:300]}") from error
    return network.eval().requires_grad_(False)


def picture(path: Path) -> Image.Image:
    """A picture in three colors.

    Raises DataError for a file that is no complete picture or has far more pixels than a photograph.
    """
    try:
        with Image.open(path) as opened:
            return opened.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} is not a complete picture ({error}); get it again.") from error


def ten_crops(
    image: Image.Image, shorter: int = SHORTER, side: int = SIDE
) -> Float[Tensor, "10 3 side side"]:
    """Corners and center, then their mirror images; each channel less ImageNet's mean, over its deviation.

    >>> crops = ten_crops(Image.new("RGB", (40, 30)), shorter=16, side=8)
    >>> crops.shape, torch.equal(crops[:5].flip(3), crops[5:])
    (torch.Size([10, 3, 8, 8]), True)
    """
    ratio = shorter / min(image.size)
    size = [max(shorter, round(ratio * length)) for length in image.size]
    resized = image.resize((size[0], size[1]), Image.Resampling.BILINEAR)
    pixels = torch.frombuffer(bytearray(resized.tobytes()), dtype=torch.uint8)
    x = pixels.view(size[1], size[0], 3).permute(2, 0, 1) / 255
    x = (x - torch.tensor(MEAN).view(3, 1, 1)) / torch.tensor(STD).view(3, 1, 1)
    down, right = size[1] - side, size[0] - side
    corners = [(0, 0), (0, right), (down, 0), (down, right), (round(down / 2), round(right / 2))]
    five = torch.stack([x[:, top : top + side, left : left + side] for top, left in corners])
    return torch.cat([five, five.flip(3)])

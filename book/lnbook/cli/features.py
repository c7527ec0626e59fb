"""`python -m lnbook features`: the vectors of COCO's pictures that Section 6.1 reads at scale "paper"."""

import argparse
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from lnbook.cli.options import UsageError, device_of
from lnbook.data.captions import LISTING
from lnbook.data.dataset import DataError
from lnbook.data.featurizing import featurize_pictures
from lnbook.data.karpathy import read_files
from lnbook.data.vgg import UNITS, load_vgg

__all__ = ["main"]


def main(argv: Sequence[str]) -> int:
    """Compute them with a user's pictures and weights; an interrupted command goes on when it is given again.

    Returns the exit status: 1 if a file or the device is missing or not as it must be.
    """
    parser = argparse.ArgumentParser(
        prog="python -m lnbook features",
        description="Vectors of COCO's pictures by VGG-19, ten crops each, as Section 6.1 reads them. An "
        "interrupted command goes on when it is given again.",
    )
    parser.add_argument("folder", type=Path, help=f"holds {LISTING}; images/10crop.npy is written there")
    parser.add_argument(
        "--pictures", type=Path, required=True, help="holds the list's folders, such as val2014"
    )
    parser.add_argument("--weights", type=Path, required=True, help="torchvision's vgg19-dcbb9e9d.pth")
    parser.add_argument("--device", default="cpu", help="cpu (default), cuda, cuda:1, or auto")
    options = parser.parse_args(argv)
    try:
        device = device_of(options.device)
        names = read_files(options.folder / LISTING)
        paths = [options.pictures / name for name in names]
        if missing := [path for path in paths if not path.is_file()]:
            raise DataError(
                f"{len(missing)} of {len(paths)} pictures are not there, such as {missing[0]}; unpack COCO's "
                f"train2014.zip and val2014.zip into {options.pictures}."
            )
        network = load_vgg(options.weights)
        with options.weights.open("rb") as file:
            known = hashlib.file_digest(file, "sha256").hexdigest()
        target = options.folder / "images" / "10crop.npy"
        featurize_pictures(paths, network, known, target, units=UNITS, device=device)
    except (DataError, UsageError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(paths)} vectors of {UNITS} numbers are in {target}")
    return 0

"""The data sets of the book: where they are looked for, and a loader for each kind.

`published(name)` looks in this order: `$LNLIB_DATA/<name>/` (files as published), the user's cache, a
download (checked by SHA-256; off with `LNLIB_OFFLINE=1`), and last an embedded stand-in that it announces.
A folder that holds some of the files only is passed over, and the provenance says so. A file that is there
but corrupt is an error; lnbook never deletes it. Nothing uses a network silently.

`readiness` says at once where data will come from and what is wrong with them, `fetch` downloads ahead of
use. Programs that change the folder, or start others, call `resolve_environment` first.

Of a user's own, which lnbook cannot fetch, `$LNLIB_DATA` may hold `iam_ondb/` (module `iam`),
`coco_vgg/` (`captions`), `bookcorpus/`, `mpqa/` and `word2vec/` (modules of these names); the
modules say in which form. Scale "paper" reads them.

`load` reads pictures; `books`, `captions`, `questions`, `sentences` and `strokes` the data of the sequence
experiments.
"""

from .datasets import DATA_SETS, DataError, DataSet, PublishedFile, data_set
from .environment import resolve_environment
from .images import Images, amat_images, binarized_digits, cifar_images, digits, idx_images
from .sources import (
    Finding,
    OnStandIn,
    Published,
    StandInWarning,
    content_of,
    fetch,
    find,
    loaded,
    published,
    readiness,
)

__all__ = [
    "DATA_SETS",
    "DataError",
    "DataSet",
    "Finding",
    "Images",
    "Published",
    "PublishedFile",
    "StandInWarning",
    "content_of",
    "data_set",
    "fetch",
    "find",
    "load",
    "loaded",
    "published",
    "readiness",
    "resolve_environment",
]


def load(name: str, *, on_stand_in: OnStandIn = "warn") -> Images:
    """A set of pictures by name: "mnist", "fashion_mnist", "binarized_mnist", "cifar10", "digits" or
    "binarized_digits".

    Args:
        name: a name of `DATA_SETS`.
        on_stand_in: what to do when only the embedded stand-in is available: give it with a
            `StandInWarning`, raise `DataError`, or give it silently. Its name is in `provenance` always.

    Returns:
        `Images`, whose `provenance` is that of `published`; its sha256, for digits, is that of pixels and
        labels.

    Raises:
        DataError: unknown name, no pictures, missing or unreadable folder, corrupt file, or no data where
            a stand-in is refused.

    >>> load("digits").provenance["source"]
    'embedded'
    """
    paths, provenance = published(name, on_stand_in=on_stand_in)
    first = next(iter(paths), provenance["name"])
    if first == "digits":
        images = digits(provenance)
    elif first == "binarized_digits":
        images = binarized_digits(provenance)
    elif first.endswith(".amat"):
        images = amat_images(paths, provenance)
    elif first.startswith("cifar"):
        images = cifar_images(paths[first], provenance)
    elif "-idx" in first:
        images = idx_images(paths, provenance)
    else:
        raise DataError(f"{name} holds no pictures; its loader is in a module of lnbook.data.")
    provenance.update(images.provenance)
    return images

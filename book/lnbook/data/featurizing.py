"""The features of all pictures of a list, row by row into one file, resumed where they stopped."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock, Timeout
from torch import nn
from tqdm import tqdm

from .dataset import DataError
from .vgg import picture, ten_crops

__all__ = ["featurize_pictures"]

EVERY = 100  # pictures from one time that rows reach the disk to the next


def featurize_pictures(
    paths: Sequence[Path],
    network: nn.Module,
    weights: str,
    target: Path,
    *,
    units: int,
    device: str | torch.device = "cpu",
    crops: Callable[..., torch.Tensor] = ten_crops,
    progress: bool = True,
) -> None:
    """Write an .npy file of (pictures, units): each row the mean of a network's outputs over crops.

    Until it is whole the file is called `<target>.part`, with a note beside it of what it is made of; a call
    with the same pictures and weights goes on with it, and no finished row is computed again.

    Args:
        paths: of the pictures, in the order of the rows.
        network: of crops (C, 3, S, S) to (C, units).
        weights: what identifies it, such as a hash.
        target: the file.
        units: of the network's outputs.
        device: where to compute.
        crops: makes the crops of a picture.
        progress: show a bar.

    Raises:
        DataError: the file is there already, another process writes it, what is there is of other pictures or
            weights, a picture cannot be read, or the disk has no room; rows that are done stay.
    """
    if target.exists():
        raise DataError(f"{target} is there already; move it away to compute it again.")
    target.parent.mkdir(parents=True, exist_ok=True)
    part, note = target.with_name(target.name + ".part"), target.with_name(target.name + ".json")
    made_of = {"weights": weights, "pictures": _digest(paths), "shape": [len(paths), units]}
    lock = FileLock(target.with_name(target.name + ".lock"), timeout=0)
    try:
        with lock:
            rows = _begun(part, note, made_of, (len(paths), units))
            network = network.to(device)
            for k in _still_to_do(rows, progress):
                with torch.inference_mode():
                    rows[k] = network(crops(picture(paths[k])).to(device)).mean(0).cpu().numpy()
                if k % EVERY == 0:
                    rows.flush()
            rows.flush()
            part.replace(target)
            note.unlink()
        Path(lock.lock_file).unlink(missing_ok=True)
    except Timeout as error:
        raise DataError(f"Another process computes {target}; wait for it.") from error


def _begun(part: Path, note: Path, made_of: Mapping[str, object], shape: tuple[int, int]) -> np.memmap:
    """The rows so far; those to do are NaN."""
    if part.exists():
        try:
            known = json.loads(note.read_text())
            rows = np.lib.format.open_memmap(part, mode="r+")
        except (OSError, ValueError) as error:
            raise DataError(f"{part} or its note {note} is damaged ({error}); delete both.") from error
        if known != made_of or rows.shape != shape:
            raise DataError(
                f"{part} is of other pictures or weights ({known}) than those asked for ({made_of}); "
                f"go on with those, or delete it and {note}."
            )
        return rows
    first = part.with_name(part.name + ".new")
    try:
        note.write_text(json.dumps(made_of))
        _write_unknown(first, *shape)
    except OSError as error:
        for begun in (first, note):
            begun.unlink(missing_ok=True)
        raise DataError(
            f"Could not make {part} for {shape[0]} rows of {shape[1]} numbers: {error}."
        ) from error
    first.replace(part)
    return np.lib.format.open_memmap(part, mode="r+")


def _write_unknown(path: Path, rows: int, units: int) -> None:
    """An .npy file of NaN. Written, not mapped: a mapped page that finds the disk full ends the process."""
    with path.open("wb") as file:
        head = {"descr": "<f4", "fortran_order": False, "shape": (rows, units)}
        np.lib.format.write_array_header_1_0(file, head)
        row = np.full(units, np.nan, "<f4").tobytes()
        for _ in range(rows):
            file.write(row)
        file.flush()
        os.fsync(file.fileno())


def _still_to_do(rows: np.memmap, progress: bool) -> Iterator[int]:
    todo = [k for k in range(len(rows)) if np.isnan(rows[k]).any()]
    done = len(rows) - len(todo)
    yield from tqdm(todo, initial=done, total=len(rows), unit="pictures", disable=not progress)


def _digest(paths: Sequence[Path]) -> str:
    """Of the names in their order; the pictures themselves may be many gigabytes."""
    return hashlib.sha256("\n".join(path.name for path in paths).encode()).hexdigest()

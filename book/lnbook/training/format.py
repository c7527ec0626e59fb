"""A checkpoint as bytes: a line that says what it is, the SHA-256 of the rest, and what `torch.save` writes.

It is read with `weights_only=True`, so it can hold numbers but no code.
"""

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from lnbook.training.errors import CheckpointError

__all__ = ["as_bytes", "as_checkpoint", "read_checkpoint"]

MAGIC = b"lnlib checkpoint 1\n"


def as_bytes(state: Mapping[str, Any]) -> bytes:
    """Numbers, strings and tensors as `torch.save` writes them."""
    content = io.BytesIO()
    torch.save(dict(state), content)
    return content.getvalue()


def as_checkpoint(state: Mapping[str, Any]) -> bytes:
    """The content of a checkpoint's file."""
    payload = as_bytes(state)
    return MAGIC + hashlib.sha256(payload).hexdigest().encode() + b"\n" + payload


def read_checkpoint(file: Path) -> dict[str, Any]:
    """What `as_checkpoint` was given, tensors on the CPU; raises `CheckpointError` for what is damaged."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise CheckpointError(f"{file} cannot be read: {error.strerror}.") from error
    head, digest, payload = content[: len(MAGIC)], content[len(MAGIC) :][:64], content[len(MAGIC) + 65 :]
    if head != MAGIC:
        raise CheckpointError(f"{file} is damaged: it begins with {head[:20]!r}, not with {MAGIC!r}.")
    found = hashlib.sha256(payload).hexdigest()
    if found.encode() != digest:
        raise CheckpointError(
            f"{file} is damaged: its SHA-256 is {found}, and was {digest.decode('ascii', 'replace')}."
        )
    try:
        state: dict[str, Any] = torch.load(io.BytesIO(payload), weights_only=True, map_location="cpu")
    except Exception as error:  # torch.load documents none
        raise CheckpointError(f"{file} cannot be read by torch {torch.__version__}: {error}.") from error
    return state

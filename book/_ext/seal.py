"""The kept runs of pages, each with the SHA-256 of its files, so that a changed one is not published."""

import hashlib
from pathlib import Path

SEAL = "SHA256SUMS"  # as `sha256sum` writes it and `sha256sum -c` checks it


def seal(folder: Path) -> None:
    """Write the digests of all files of a folder into it."""
    lines = [f"{digest}  {name}\n" for name, digest in sorted(_digests(folder).items())]
    (folder / SEAL).write_text("".join(lines), encoding="utf-8")


def damage(folder: Path) -> str:
    """Which file of a sealed folder was changed, lost or added, in words; "" for none."""
    try:
        lines = (folder / SEAL).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return f"{SEAL} cannot be read"
    told = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    found = _digests(folder)
    wrong = sorted(name for name in {**told, **found} if told.get(name) != found.get(name))
    if not wrong:
        return ""
    how = "was changed" if wrong[0] in told and wrong[0] in found else "is lost"
    return f"{wrong[0]} {how if wrong[0] in told else 'was added'}"


def _digests(folder: Path) -> dict[str, str]:
    files = (f for f in folder.rglob("*") if f.is_file() and f != folder / SEAL)
    return {f.relative_to(folder).as_posix(): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}

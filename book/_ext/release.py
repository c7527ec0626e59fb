"""`make release`: the built pages, with their executed notebooks and rows, and the PDF in one zip.

`python book/_ext/release.py` packs what `make pdf` left in `_build`. The same files make the same zip.
"""

import hashlib
import zipfile
from pathlib import Path

from lnlib import __version__

BUILD = Path(__file__).resolve().parents[2] / "_build"
DATE = (1980, 1, 1, 0, 0, 0)  # the oldest that a zip can say


def pack(build: Path, out: Path) -> None:
    """Pack the folders `html` and `pdf` of a build, with a SHA256SUMS of their files."""
    found = [file for folder in ("html", "pdf") for file in (build / folder).rglob("*")]
    names = sorted(file.relative_to(build).as_posix() for file in found if file.is_file())
    contents = {name: (build / name).read_bytes() for name in names if "/." not in name}  # hidden: Sphinx's
    sums = [f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in contents.items()]
    contents["SHA256SUMS"] = "".join(sums).encode()
    partial = out.with_suffix(".partial")
    out.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in contents.items():
            info = zipfile.ZipInfo(name, DATE)
            info.external_attr = 0o644 << 16
            packed.writestr(info, data, zipfile.ZIP_DEFLATED)
    partial.replace(out)


if __name__ == "__main__":
    archive = BUILD / "release" / f"lnlib-book-{__version__}.zip"
    pack(BUILD, archive)
    print(f"{archive} ({archive.stat().st_size / 1e6:.0f} MB)")
    print(f"SHA-256 {hashlib.sha256(archive.read_bytes()).hexdigest()}")

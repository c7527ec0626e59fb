"""The archive of a release: the whole book, the same for the same book, with the digest of each file."""

import os
import subprocess
import zipfile
from pathlib import Path

from release import pack


def test_the_archive_holds_what_was_built_and_nothing_hidden_and_its_digests_hold(tmp_path: Path) -> None:
    build, archive = tmp_path / "build", tmp_path / "release" / "book.zip"
    for name in ("html/index.html", "html/book/data/rows.csv", "html/.buildinfo", "pdf/book.pdf", "failed/a"):
        (build / name).parent.mkdir(parents=True, exist_ok=True)
        (build / name).write_text(name)
    pack(build, archive)
    first = archive.read_bytes()
    os.utime(build / "pdf" / "book.pdf", (0, 0))
    pack(build, archive)
    assert archive.read_bytes() == first
    zipfile.ZipFile(archive).extractall(tmp_path / "unpacked")
    names = {f.relative_to(tmp_path / "unpacked").as_posix() for f in (tmp_path / "unpacked").rglob("*.*")}
    assert names == {"html/index.html", "html/book/data/rows.csv", "pdf/book.pdf"}
    checked = subprocess.run(
        ["sha256sum", "-c", "SHA256SUMS"], cwd=tmp_path / "unpacked", check=True, capture_output=True
    )
    assert checked.stdout.count(b": OK") == len(names)

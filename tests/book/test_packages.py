"""The packages hold what is named for them, and nothing that lies about in the folders."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STRAYS = (
    "lnlib/notes.txt",
    "lnlib/__pycache__/x.nbi",
    "lnlib/rnn/kernels/__pycache__/y.nbc",
    "book/lnbook/notes.txt",
    "book/lnbook/__pycache__/x.nbi",
    "book/lnbook/data/mnist.gz",
)


def tree(out: Path) -> Path:
    """What the packages are built from, as git has it, with stray files; not a git checkout itself."""
    tracked = ["pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "lnlib"]
    for name in [*tracked, "book/pyproject.toml", "book/claims.toml", "book/lnbook"]:
        source, target = ROOT / name, out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy2(source, target)
    for name in STRAYS:
        (out / name).parent.mkdir(exist_ok=True)
        (out / name).write_text("stray")
    return out


@pytest.mark.slow
def test_the_packages_hold_what_is_named_and_no_stray_file(tmp_path):
    out = tmp_path / "dist"
    for project in (place := tree(tmp_path / "tree"), place / "book"):
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out)]
        subprocess.run(command, cwd=project, check=True, capture_output=True)
    for name, package in (("lnlib", ROOT / "lnlib"), ("lnlib_book", ROOT / "book" / "lnbook")):
        found = (f for f in package.rglob("*") if f.suffix in {".py", ".css", ".js", ".csv", ".toml"})
        files = {f.relative_to(package.parent).as_posix() for f in found if f.name != "ruff.toml"}
        files |= {"lnbook/claims.toml"} if name == "lnlib_book" else set()
        (wheel,) = out.glob(f"{name}-*.whl")
        with zipfile.ZipFile(wheel) as packed:
            assert {n for n in packed.namelist() if ".dist-info/" not in n} == files
        (source,) = out.glob(f"{name}-*.tar.gz")
        with tarfile.open(source) as packed:
            sources = {n.partition("/")[2] for n in packed.getnames()}
        claims = {"lnbook/claims.toml": "claims.toml"}  # where it lies before it is built
        assert {claims.get(n, n) for n in files} <= sources
        assert not [n for n in sources if n.endswith((".nbi", ".nbc", ".txt", ".gz"))]

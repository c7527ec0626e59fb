"""The packages hold what is named for them, and nothing that lies about in the folders."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.parametrize(("project", "package"), [(".", "lnlib"), ("book", "book/lnbook")])
def test_a_package_holds_what_is_named_and_no_stray_file(tmp_path: Path, project: str, package: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT / project, check=True, capture_output=True)
    found = (f for f in (ROOT / package).rglob("*") if f.suffix in {".py", ".css", ".js", ".csv", ".toml"})
    files = {f.relative_to((ROOT / package).parent).as_posix() for f in found if f.name != "ruff.toml"}
    files |= {"lnbook/claims.toml"} if project == "book" else set()
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        assert {n for n in packed.namelist() if ".dist-info/" not in n} == files

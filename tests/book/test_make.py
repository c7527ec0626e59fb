"""What make refuses, where it looks for data, and what the packages hold: no file that lies about."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"MAKEFLAGS": ""}  # of the make that may run the tests
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )


def test_make_looks_for_data_where_a_relative_path_was_typed() -> None:
    assert f"LNLIB_DATA := {ROOT}/real data\n" in make("-pn", "help", "LNLIB_DATA=real data").stdout


@pytest.mark.parametrize(
    ("wrong", "message"), [("LNLIB_DATA=../nowhere", "nowhere"), ("SCALE=bok", "smoke or book")]
)
def test_make_refuses_what_cannot_be_before_it_installs_anything(wrong: str, message: str) -> None:
    done = make("ready-to-build", wrong)
    assert done.returncode != 0
    assert message in done.stderr


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

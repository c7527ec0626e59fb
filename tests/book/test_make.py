"""What make refuses, and where it looks for data."""

import os
import subprocess
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

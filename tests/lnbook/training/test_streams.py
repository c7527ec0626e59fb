"""Where its lines go stops no run: nobody reads, a device is full, a terminal is gone or knows only ASCII."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small import UPDATES, mind_hangups

pytestmark = pytest.mark.slow  # each starts an interpreter under a shell

HERE = Path(__file__).resolve().parent
PATIENCE = 1500  # seconds, for what hangs
ONE = ["--scale", "smoke", "--only", "norm=layer", "--processes", "1"]


def shell(redirection: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A program of this folder, or a module, whose streams a shell has redirected."""
    return subprocess.run(
        ["bash", "-c", f'"$@" {redirection}', "bash", sys.executable, *words],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        encoding=variables.get("PYTHONIOENCODING", "utf-8"),
        check=False,
        timeout=PATIENCE,
    )


def small(out: Path, redirection: str, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return shell(redirection, str(HERE / "small.py"), "--out", str(out), *ONE, *options, **variables)


def done(out: Path) -> list[int]:
    """The last updates of the finished runs."""
    outcomes = sorted(out.glob("small/*/outcome.json"))
    return [max(row["update"] for row in json.loads(file.read_bytes())["rows"]) for file in outcomes]


@pytest.mark.parametrize(
    ("redirection", "processes"),
    [("2>/dev/full", "2"), ("2> >(exec true) > >(exec true)", "1"), (">&- 2>&-", "2")],
)
def test_a_run_whose_lines_nobody_can_read_ends_as_any_other(
    tmp_path: Path, redirection: str, processes: str
) -> None:
    ended = small(tmp_path, redirection, "--processes", processes)
    assert ended.returncode == 0
    assert done(tmp_path) == [UPDATES, UPDATES]
    assert (tmp_path / "small.csv").is_file()
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr
    if "> >" not in redirection and ">&-" not in redirection:
        assert "2 of 6 runs are done" in ended.stdout


def test_what_is_meant_for_a_closed_stderr_stays_out_of_stdout(tmp_path: Path) -> None:
    ended = small(tmp_path, "2>&-")
    assert ended.returncode == 0
    assert "2 of 6 runs are done" in ended.stdout
    assert "update" not in ended.stdout


def test_a_table_that_is_lost_on_a_full_device_is_said_and_the_rows_are_kept(tmp_path: Path) -> None:
    ended = small(tmp_path, ">/dev/full")
    assert done(tmp_path) == [UPDATES, UPDATES]
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == "Not all output could be written: No space left on device."


@pytest.mark.parametrize(
    ("words", "encoding"),
    [(["claims"], "ascii"), (["claims"], "cp1252"), (["run", "6.6", "--settings"], "ascii")],
)
def test_a_terminal_with_few_characters_shows_the_others_as_escapes(words: list[str], encoding: str) -> None:
    ended = shell("", "-m", "lnbook", *words, PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert ended.stderr == ""
    assert ended.returncode == 0
    assert ended.stdout


def test_a_table_of_means_and_intervals_can_be_read_in_ascii(tmp_path: Path) -> None:
    ended = small(tmp_path, "", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ended.returncode == 0
    assert "half their 95 % intervals" in ended.stdout
    assert r" \xb1 " in ended.stdout


def test_a_terminal_that_closes_leaves_a_checkpoint(tmp_path: Path) -> None:
    ended, updates = hung_up(tmp_path)
    assert ended == 130
    assert len(updates) == 1
    assert 0 < updates[0] < 10**6


def test_a_run_under_nohup_outlives_its_terminal(tmp_path: Path) -> None:
    ended, updates = hung_up(tmp_path, "nohup")
    assert ended == -signal.SIGKILL  # by the test, at last
    assert updates == []


def hung_up(out: Path, *before: str) -> tuple[int, list[int]]:
    """How a long run ends whose process group gets SIGHUP, and the updates of its newest checkpoints."""
    command = [*before, sys.executable, HERE / "interrupted.py", out, "1"]
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        preexec_fn=mind_hangups,
    ) as run:
        end = time.monotonic() + PATIENCE
        while not list(out.glob("*/rows.jsonl")):
            assert time.monotonic() < end
            time.sleep(0.02)
        time.sleep(0.3)  # into the updates
        os.killpg(run.pid, signal.SIGHUP)
        if before:
            time.sleep(1)
            assert run.poll() is None
            os.killpg(run.pid, signal.SIGKILL)
        status = run.wait(timeout=PATIENCE)
    return status, [int(file.stem) for file in out.glob("*/*.checkpoint")]

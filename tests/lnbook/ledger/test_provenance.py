"""What a stored number says about where it comes from, and that it says nothing false."""

import datetime
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from lnbook import data
from lnbook.ledger.provenance import provenance

PACKAGE = Path(__file__).resolve().parents[3] / "book" / "lnbook"


def test_the_facts_are_those_of_this_process_and_fit_into_json() -> None:
    data.load("digits")
    facts = provenance()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["torch"] == torch.__version__
    assert facts["threads"] == torch.get_num_threads()
    assert facts["date"] == datetime.date.today().isoformat()
    assert "digits" in [entry["name"] for entry in facts["data"]]
    assert facts["seconds"] >= 0
    assert facts["cpu"]


def test_the_peak_of_memory_is_in_megabytes_and_not_that_of_the_process_that_started_this_one() -> None:
    ballast = bytearray(b"1") * 700_000_000  # more than lnlib and the block below take
    script = (
        "from lnbook.ledger.provenance import _peak_memory_mb as peak; before = peak(); "
        "block = bytearray(b'1') * 400_000_000; print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    # the imports' own peak may have been up to 200 MB above what they left
    assert 200 <= int(done.stdout) <= 420
    assert len(ballast) == 700_000_000


def test_what_the_caller_adds_comes_last() -> None:
    facts = provenance(scale="smoke", seconds=12.5)
    assert (facts["scale"], facts["seconds"]) == ("smoke", 12.5)


def test_a_gpu_that_was_not_used_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert provenance()["device"] == "cpu"
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    assert provenance()["device"] == "a GPU"


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@x.x", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def commit_seen_in(folder: Path) -> str:
    script = "from lnbook.ledger.provenance import provenance; print(provenance()['commit'])"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env=os.environ
        | {"PYTHONPATH": os.pathsep.join([str(folder / "book"), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_the_commit_is_the_checkouts_and_never_that_of_a_repository_around_an_installation(
    tmp_path: Path,
) -> None:
    shutil.copytree(PACKAGE, tmp_path / "book" / "lnbook", ignore=shutil.ignore_patterns("__pycache__"))
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "book/lnbook")
    git(tmp_path, "commit", "--quiet", "--message", "somebody else's project")
    assert commit_seen_in(tmp_path) == "unknown"
    (tmp_path / "book" / "claims.toml").write_text("")
    git(tmp_path, "add", "book/claims.toml")
    git(tmp_path, "commit", "--quiet", "--message", "a checkout")
    commit = git(tmp_path, "rev-parse", "--short=12", "HEAD")
    assert commit_seen_in(tmp_path) == commit
    (tmp_path / "book" / "results").mkdir()
    (tmp_path / "book" / "results" / "rows.csv").write_text("a")
    git(tmp_path, "add", "book/results/rows.csv")
    assert commit_seen_in(tmp_path) == commit  # rows that are recorded while others run change no code
    (tmp_path / "book" / "claims.toml").write_text("changed = 1")
    assert commit_seen_in(tmp_path) == commit + "+"

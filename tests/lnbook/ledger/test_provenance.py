"""What a stored number says about where it comes from, and that it says nothing false."""

import datetime
import json
import subprocess
from pathlib import Path

import pytest
import torch

from lnbook import data
from lnbook.ledger.provenance import provenance


def test_the_facts_are_those_of_this_process_and_fit_into_json() -> None:
    data.load("digits")
    facts = provenance(scale="smoke")
    assert json.loads(json.dumps(facts)) == facts
    assert facts["torch"] == torch.__version__
    assert facts["threads"] == torch.get_num_threads()
    assert facts["date"] == datetime.date.today().isoformat()
    assert "digits" in [entry["name"] for entry in facts["data"]]
    assert facts["seconds"] >= 0
    assert facts["cpu"]
    assert 50 < facts["peak_memory_mb"] < 50_000
    assert facts["scale"] == "smoke"


def test_a_gpu_that_was_not_used_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    assert provenance()["device"] == "cpu"
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    assert provenance()["device"] == "a GPU"


def test_the_commit_is_the_checkouts_and_a_changed_one_is_marked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(tmp_path), "-c", "user.name=x", "-c", "user.email=x@x.x", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    book: Path | None = tmp_path / "book"
    monkeypatch.setattr("lnbook.ledger.provenance.book_dir", lambda: book)
    (tmp_path / "book" / "results").mkdir(parents=True)
    (tmp_path / "book" / "claims.toml").write_text("")
    git("init", "--quiet")
    git("add", "book/claims.toml")
    git("commit", "--quiet", "--message", "a checkout")
    commit = git("rev-parse", "--short=12", "HEAD")
    assert provenance()["commit"] == commit
    (tmp_path / "book" / "results" / "rows.csv").write_text("a")
    git("add", "book/results/rows.csv")
    assert provenance()["commit"] == commit  # rows that are recorded while others run change no code
    (tmp_path / "book" / "claims.toml").write_text("changed = 1")
    assert provenance()["commit"] == commit + "+"
    book = None  # installed: a repository around the environment is somebody else's
    assert provenance()["commit"] == "unknown"

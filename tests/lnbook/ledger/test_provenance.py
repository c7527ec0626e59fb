"""What a stored number says about where it comes from, and that it says nothing false."""

import json
import subprocess
from pathlib import Path

import torch

from lnbook import data
from lnbook.ledger.provenance import provenance


def test_the_facts_are_those_of_this_process_and_fit_into_json(monkeypatch):
    data.load("digits")
    facts = provenance(scale="smoke")
    assert json.loads(json.dumps(facts)) == facts
    assert (facts["torch"], facts["scale"]) == (torch.__version__, "smoke")
    assert "digits" in [entry["name"] for entry in facts["data"]]
    assert facts["cpu"]
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a GPU")
    for used, name in ((False, "cpu"), (True, "a GPU")):
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda used=used: used)
        assert provenance()["device"] == name


def test_the_commit_is_the_checkouts_and_a_changed_one_is_marked(tmp_path, monkeypatch):
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

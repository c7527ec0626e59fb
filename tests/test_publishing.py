"""What is published, and how: workflows whose actions are pinned, an image whose parts exist."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = [file.read_text("utf-8") for file in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
JOBS = {name: job for text in WORKFLOWS for name, job in yaml.safe_load(text)["jobs"].items()}
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_every_action_is_pinned_to_one_commit_and_says_its_version():
    used = {line for text in WORKFLOWS for line in re.findall(r"uses: .*", text)}
    for line in used:
        assert re.fullmatch(r"uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line
    assert len({line.partition("@")[0] for line in used}) == len(used)


def test_only_the_job_that_publishes_may_write_and_only_what_was_checked():
    assert all(yaml.safe_load(text)["permissions"] == {"contents": "read"} for text in WORKFLOWS)
    assert {name: job["permissions"] for name, job in JOBS.items() if "permissions" in job} == {
        "pages": {"pages": "write", "id-token": "write"},
        "release": {"contents": "write"},
    }
    for name in ("pages", "release"):
        assert JOBS[name]["needs"] == "check", "what is published was checked"
        assert not [step for step in JOBS[name]["steps"] if "checkout" in step.get("uses", "")]


def test_what_the_publishing_jobs_take_is_what_the_check_leaves():
    steps = JOBS["check"]["steps"]
    left = {s["with"].get("name"): s["with"]["path"] for s in steps if "upload" in s.get("uses", "")}
    assert left == {"book": "_build/html", None: "_build/html", "release": "_build/release/*.zip"}
    assert JOBS["release"]["steps"][0]["with"] == {"name": "release"}
    assert "lnlib-book-$(VERSION).zip" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert 'archive="lnlib-book-${GITHUB_REF_NAME#v}.zip"' in JOBS["release"]["steps"][1]["run"]


def test_the_image_has_the_pinned_versions_of_the_python_they_resolve_on_and_binders_user():
    assert re.search(r"^FROM python:3\.11\.\d+-slim-\w+$", DOCKERFILE, flags=re.MULTILINE)
    assert "they resolve on Python 3.11" in " ".join((ROOT / "constraints.txt").read_text("utf-8").split())
    assert "pip install -c constraints.txt -e . -e './book[build,binder]'" in DOCKERFILE
    assert {"ARG NB_USER=jovyan", "ARG NB_UID=1000"} <= set(DOCKERFILE.splitlines())
    after = DOCKERFILE.partition("\nUSER ${NB_USER}\n")[2]
    assert after
    assert not re.search("^(RUN|COPY)", after, flags=re.MULTILINE)
    assert "ENTRYPOINT" not in DOCKERFILE, "Binder gives a command of its own"
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv", "_build", "**/__pycache__"} <= set(ignored)

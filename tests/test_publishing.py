"""What is published, and how: workflows whose actions are pinned, an image whose parts exist."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def jobs() -> dict[str, dict]:
    read = (yaml.safe_load(file.read_text(encoding="utf-8")) for file in WORKFLOWS)
    return {name: job for workflow in read for name, job in workflow["jobs"].items()}


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's lines as (instruction, arguments), continued lines joined."""
    text = re.sub(r"\\\n", " ", DOCKERFILE)
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, rest in lines]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda f: f.stem)
def test_every_action_is_pinned_to_a_commit_and_says_its_version(file):
    for line in re.findall(r"uses: .*", file.read_text(encoding="utf-8")):
        assert re.fullmatch(r"uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_one_action_has_one_version():
    pins = {pin for file in WORKFLOWS for pin in re.findall(r"uses: (\S+)", file.read_text("utf-8"))}
    assert len({pin.partition("@")[0] for pin in pins}) == len(pins)


def test_only_the_job_that_publishes_may_write_and_only_what_it_publishes():
    for file in WORKFLOWS:
        assert yaml.safe_load(file.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
    assert {name: job["permissions"] for name, job in jobs().items() if "permissions" in job} == {
        "pages": {"pages": "write", "id-token": "write"},
        "release": {"contents": "write"},
    }
    for name in ("pages", "release"):
        assert jobs()[name]["needs"] == "check", "what is published was checked"
        assert not [step for step in jobs()[name]["steps"] if "checkout" in step.get("uses", "")]


def test_what_the_publishing_jobs_take_is_what_the_check_leaves():
    steps = jobs()["check"]["steps"]
    left = {s["with"].get("name"): s["with"]["path"] for s in steps if "upload" in s.get("uses", "")}
    assert left == {"book": "_build/html", None: "_build/html", "release": "_build/release/*.zip"}
    assert jobs()["release"]["steps"][0]["with"] == {"name": "release"}
    assert "lnlib-book-$(VERSION).zip" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert 'archive="lnlib-book-${GITHUB_REF_NAME#v}.zip"' in jobs()["release"]["steps"][1]["run"]


def test_the_image_installs_the_pinned_versions_of_the_python_they_resolve_on():
    (base,) = [rest for name, rest in instructions() if name == "FROM"]
    assert re.fullmatch(r"python:3\.11\.\d+-slim-\w+", base), "a tag that is not moved to another Python"
    assert "they resolve on Python 3.11" in " ".join((ROOT / "constraints.txt").read_text("utf-8").split())
    (install,) = [rest for name, rest in instructions() if name == "RUN" and "pip install" in rest]
    assert install == "pip install -c constraints.txt -e . -e './book[build,binder]'"
    extras = tomllib.loads((ROOT / "book" / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]
    assert {"build", "binder"} <= set(extras)
    assert (ROOT / "constraints.txt").is_file()
    assert (ROOT / "book" / "pyproject.toml").is_file()


def test_the_image_runs_as_the_user_that_binder_asks_for():
    named = dict(rest.split("=") for name, rest in instructions() if name == "ARG")
    assert named == {"NB_USER": "jovyan", "NB_UID": "1000"}
    kinds = [name for name, _ in instructions()]
    assert instructions()[kinds.index("USER")][1] == "${NB_USER}"
    assert "ENTRYPOINT" not in kinds, "Binder gives a command of its own"
    after = kinds[kinds.index("USER") :]
    assert "RUN" not in after
    assert "COPY" not in after


def test_what_was_built_here_stays_out_of_the_image():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    assert {".git", ".venv", "_build", "**/__pycache__"} <= set(ignored)

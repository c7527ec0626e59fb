"""What is published, and how: workflows whose actions are pinned."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = [file.read_text("utf-8") for file in sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
JOBS = {name: job for text in WORKFLOWS for name, job in yaml.safe_load(text)["jobs"].items()}


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

"""What must agree across files: dependencies, table of contents, ledger, addresses."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import nbformat
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from lnbook.cli.claims import readme_results, replace_between_marks
from lnbook.ledger.report import report
from lnbook.ledger.rules import load_rules, load_sentences
from lnbook.ledger.verdicts import SENTENCE_WORDS

ROOT = Path(__file__).resolve().parents[1]
PROJECT, BOOK = (
    tomllib.loads((ROOT / place).read_text(encoding="utf-8"))["project"]
    for place in ("pyproject.toml", "book/pyproject.toml")
)
CONDA_NAMES = {"pytorch": "torch"}
PIPS = ("peers", "laplace")  # extras


def direct(without: Sequence[str] = ()) -> dict[str, Requirement]:
    """Direct dependencies of library and book and of their extras but some, without each other."""
    extras = PROJECT["optional-dependencies"] | BOOK["optional-dependencies"]
    lines = [r for extra in extras if extra not in without for r in extras[extra]]
    requirements = [Requirement(line) for line in PROJECT["dependencies"] + BOOK["dependencies"] + lines]
    return {r.name: r for r in requirements if r.name not in ("lnlib", "lnlib-book")}


def test_library_and_book_ask_for_the_same_versions_of_what_both_need():
    asked: dict[str, set[str]] = {}
    for project in (PROJECT, BOOK):
        for line in [
            *project["dependencies"],
            *(r for e in project["optional-dependencies"].values() for r in e),
        ]:
            asked.setdefault(Requirement(line).name, set()).add(str(Requirement(line).specifier))
    assert not {name: ranges for name, ranges in asked.items() if len(ranges) > 1}
    assert PROJECT["version"] == BOOK["version"]


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def test_pyproject_and_environment_name_the_same_direct_dependencies():
    """But for `peers` and `laplace`: their torchvision would replace conda's torch by another."""
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    flat = [d for d in environment if isinstance(d, str)]
    flat += [d for group in environment if isinstance(group, dict) for d in group["pip"]]
    conda = [Requirement(d) for d in flat if d != "pip" and not d.startswith(("-e", "python>"))]
    theirs = {CONDA_NAMES.get(r.name, r.name): str(r.specifier) for r in conda}
    assert theirs == {name: str(r.specifier) for name, r in direct(without=PIPS).items()}


def test_constraints_pin_every_direct_dependency_inside_its_range():
    versions = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pinned().items()}
    for name, requirement in direct().items():
        version = versions.get(re.sub(r"[-_.]+", "-", name).lower())
        assert version, f"constraints.txt does not pin {name}"
        assert Version(version) in requirement.specifier, f"{name}=={version}, not {requirement.specifier}"


def test_the_table_of_contents_lists_exactly_the_pages_that_exist():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = {toc["root"]} | {c["file"] for part in toc["parts"] for c in part["chapters"]}
    files = {f"book/{f.stem}" for f in (ROOT / "book").iterdir() if f.suffix in {".md", ".ipynb"}}
    assert listed == files


def test_every_sentence_stands_once_and_has_a_rule_a_quotation_or_a_reason_for_neither():
    rules = {rule.sentence for rule in load_rules(ROOT / "book" / "claims.toml")}
    sentences = load_sentences(ROOT / "book" / "claims.toml")
    assert len(sentences) >= 150
    said = [sentence.says for sentence in sentences]
    assert len(set(said)) == len(said), "a sentence counts once"
    odd = [s.id for s in sentences if (s.id in rules) + bool(s.read) + bool(s.reason) != 1]
    assert not odd, "a sentence has rules, or is read in a source, or has a reason why neither"


OTHERS = "not reproduced", "borne out"  # said of results in other words
VERDICTS = rf"\b({'|'.join(set(SENTENCE_WORDS) - {'read', 'error in print'})}|{'|'.join(OTHERS)})\b"
EXPLAIN = "sec7_conclusion", "ledger"  # what the words mean, beside their counts
PAGES = [f for f in sorted((ROOT / "book").iterdir()) if f.suffix in (".ipynb", ".md")] + [ROOT / "README.md"]


@pytest.mark.parametrize("page", [f for f in PAGES if f.stem not in EXPLAIN], ids=lambda f: f.stem)
def test_no_verdict_is_typed_in_prose(page):
    """The role {verdict} says a recorded one, and the README's table is written by a command."""
    text = page.read_text(encoding="utf-8")
    if page.name == "README.md":
        text = replace_between_marks(text, "claims", "")
    if page.suffix == ".ipynb":
        cells = nbformat.reads(text, as_version=4).cells
        text = "\n".join(c.source for c in cells if c.cell_type == "markdown")
    typed = [line for line in text.splitlines() if re.search(VERDICTS, line)]
    assert not typed, "say it by {verdict}`rule`, from the record"


def test_the_readme_shows_the_committed_verdicts():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    fresh = replace_between_marks(text, "claims", readme_results(ROOT / "book"))
    assert text == fresh, "run `python -m lnbook claims --readme` and commit README.md"
    counts = re.findall(r"^\| [a-z' ]+ \| (\d+)(?: \(\d+ †\))? \|$", text, flags=re.MULTILINE)
    assert sum(map(int, counts)) == len(load_sentences(ROOT / "book" / "claims.toml"))


def test_the_readme_fits_two_screens():
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 120, "what a newcomer does not need first belongs in CONTRIBUTING.md or the book"


def test_every_rule_has_recorded_evidence():
    known = report(ROOT / "book")
    results = ROOT / "book" / "results"
    run = [r for r in known.rules if not r.study or (results / f"{r.study}.json").is_file()]
    assert len(run) >= 300
    missing = [rule.id for rule in run if rule.id not in known.found]
    assert not missing, "run `make book` and `python -m lnbook claims --record`"


def test_the_readme_examples_print_what_the_readme_says():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```.*?```text\n(.*?)```", text, flags=re.DOTALL)
    assert len(examples) == text.count("```python") >= 3  # norms, Fisher, recurrent networks
    for example, shown in examples:
        assert len(example.splitlines()) <= 12
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", example], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout == shown


def test_the_repository_address_is_the_same_everywhere():
    address = PROJECT["urls"]["Repository"]
    assert yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]["url"] == address
    assert address in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_no_notebook_installs_what_lies_at_an_address():
    """The head of a repository changes, and an address can change hands: a notebook says how, no more."""
    for path in (ROOT / "book").glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"git\+https?:|%pip|!pip", text), path.name
        assert "pip install . './book[build]'" in text, path.name


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


LINES = {  # a room that needs more takes it from another, or says why in the commit that raises it
    "lnlib": 6_869,
    "book/lnbook/data": 1_679,
    "book/lnbook/training": 864,
    "book/lnbook/cli": 416,
    "book/lnbook/ledger": 976,
    "book/lnbook/explore": 677,
    "book/lnbook/figures": 204,
    "book/lnbook/shared": 1_008,
    "book/lnbook/pages": 7_984,
    "book/_ext": 1_326,
    "benchmarks": 898,
    "tests/lnlib": 4_690,
    "tests/lnbook": 6_210,
    "tests/book": 1_028,
}


@pytest.mark.parametrize("room", LINES)
def test_a_room_does_not_grow_unnoticed(room: str) -> None:
    lines = sum(len(file.read_bytes().splitlines()) for file in (ROOT / room).rglob("*.py"))
    assert lines <= LINES[room], f"{room} has {lines} lines of Python; look for what can go"

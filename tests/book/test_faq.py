"""The page of questions: each has one answer, one check that stands alone, one link; no topic is left out."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

NOTEBOOK = nbformat.read(Path(__file__).resolve().parents[2] / "book" / "faq.ipynb", as_version=4)
CODE = [cell.source for cell in NOTEBOOK.cells if cell.cell_type == "code"]


def answers() -> list[tuple[str, str, list[str]]]:
    """The questions of the page in order: the heading, what is said, and the code cells that follow."""
    found: list[tuple[str, str, list[str]]] = []
    for cell in NOTEBOOK.cells:
        head, _, text = cell.source.partition("\n")
        if head.startswith("### "):
            found.append((head[4:], " ".join(text.split()), []))
        elif cell.cell_type == "code" and found:
            found[-1][2].append(cell.source)
    return found


ANSWERS = answers()


def test_no_question_is_asked_twice_and_each_ends_as_one() -> None:
    questions = [question for question, _, _ in ANSWERS]
    assert len(set(questions)) == len(questions) >= 35
    assert all("?" in question for question in questions)


@pytest.mark.parametrize(("text", "checks"), [a[1:] for a in ANSWERS], ids=[a[0] for a in ANSWERS])
def test_an_answer_has_a_few_sentences_one_link_and_one_check_that_can_fail(text, checks) -> None:
    plain = re.sub(r"\$[^$]*\$|`[^`]*`|\{\w+(:p)?\}", "", text)
    assert 2 <= len(re.findall(r"[.:?](?= |$)", plain)) <= 9, "about three sentences"
    assert 25 <= len(text.split()) <= 105
    assert len(re.findall(r"\{doc\}`(\w+)`", text)) == 1, "one chapter that goes deep"
    (check,) = checks
    assert len(check.splitlines()) <= 16
    nodes = list(ast.walk(ast.parse(check)))
    asserted = [node.test for node in nodes if isinstance(node, ast.Assert)]
    assert asserted or any(isinstance(node, ast.Raise) for node in nodes)
    for test in asserted:
        assert any(isinstance(part, ast.Name) for part in ast.walk(test)), "asserts a constant"
    assert any(isinstance(node, ast.Name) and node.id == "print" for node in nodes), "shows what it found"


def test_a_check_needs_the_imports_and_no_other_cell(tmp_path: Path) -> None:
    for number, (_, _, (check,)) in enumerate(ANSWERS):
        alone = "\n".join([*CODE[1:3], check])  # the parameters, the imports
        (tmp_path / f"check_{number}.py").write_text(alone, encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "."]
    undefined = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not undefined.returncode, undefined.stdout

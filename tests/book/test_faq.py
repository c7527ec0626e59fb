"""The page of questions: each has one answer, one check that stands alone, one link; no topic is left out."""

import ast
import builtins
import re
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = nbformat.read(ROOT / "book" / "faq.ipynb", as_version=4)


class Answer(NamedTuple):
    """One question: its heading, what is said, and the code cells that follow."""

    question: str
    text: str
    checks: tuple[str, ...]


def answers() -> list[Answer]:
    """The questions of the page in order."""
    found: list[Answer] = []
    for cell in NOTEBOOK.cells:
        head, _, text = cell.source.partition("\n")
        if head.startswith("### "):
            found.append(Answer(head[4:], " ".join(text.split()), ()))
        elif cell.cell_type == "code" and found:
            found[-1] = found[-1]._replace(checks=(*found[-1].checks, cell.source))
    return found


ANSWERS = answers()
every_answer = pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: a.question)


def test_no_question_is_asked_twice_and_each_ends_as_one() -> None:
    questions = [answer.question for answer in ANSWERS]
    assert len(set(questions)) == len(questions) >= 35
    assert all("?" in question for question in questions)


@every_answer
def test_an_answer_has_a_few_sentences_one_link_and_one_check(answer: Answer) -> None:
    plain = re.sub(r"\$[^$]*\$|`[^`]*`|\{\w+(:p)?\}", "", answer.text)
    assert 2 <= len(re.findall(r"[.:?](?= |$)", plain)) <= 9, "about three sentences"
    assert 25 <= len(answer.text.split()) <= 105
    links = re.findall(r"\{doc\}`(\w+)`", answer.text)
    assert len(links) == 1, "one chapter that goes deep"
    assert len(answer.checks) == 1, "one check"
    assert len(answer.checks[0].splitlines()) <= 16


@every_answer
def test_a_check_can_fail_and_shows_what_it_found(answer: Answer) -> None:
    tree = ast.parse(answer.checks[0])
    asserted = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    refused = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    assert asserted or refused
    for node in asserted:
        assert any(isinstance(part, ast.Name) for part in ast.walk(node.test)), "asserts a constant"
    assert any(isinstance(node, ast.Name) and node.id == "print" for node in ast.walk(tree))


def bound(tree: ast.AST) -> dict[str, int]:
    """Names that code binds, with the first line that does."""
    places: list[tuple[str, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            places.append((node.id, node.lineno))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            places += [((a.asname or a.name).partition(".")[0], node.lineno) for a in node.names]
        elif isinstance(node, ast.arg):
            places.append((node.arg, node.lineno))
        elif isinstance(node, ast.ExceptHandler) and node.name:
            places.append((node.name, node.lineno))
    lines: dict[str, int] = {}
    for name, line in places:
        lines[name] = min(line, lines.get(name, line))
    return lines


@every_answer
def test_a_check_needs_the_imports_and_no_other_cell(answer: Answer) -> None:
    code = [cell for cell in NOTEBOOK.cells if cell.cell_type == "code"]
    shared = set(dir(builtins))
    for cell in code[1:3]:  # the parameters, the imports
        shared |= set(bound(ast.parse(cell.source)))
    tree = ast.parse(answer.checks[0])
    first = bound(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in shared:
            assert first.get(node.id, node.lineno + 1) <= node.lineno, f"{node.id} comes from another cell"

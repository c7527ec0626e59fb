"""The page of questions: each has one answer, one check that stands alone, one link; no topic is left out."""

import ast
import builtins
import re
from pathlib import Path
from typing import NamedTuple

import nbformat
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = nbformat.read(ROOT / "book" / "faq.ipynb", as_version=4)
GROUPS = (
    "What is it?",
    "Which axis?",
    "Numbers and precision",
    "Recurrent networks",
    "Training",
    "Transformers and after",
    "Using lnlib",
    "This book",
)
# What users of layer norm, and readers of books like this one, ask most: the words that they would look for,
# all of which one question with its answer must contain.
TOPICS = (
    # of users
    "drop-in LSTM GRU",
    "slow loop backend",
    "which tensor is normalized",
    "LSTM sum each projection",
    "normalized cell feed back",
    "eps inside outside NaN",
    "biased unbiased",
    "frameworks eps",
    "fp16 bf16 overflow",
    "packed variable length",
    "padding pollute",
    "instance norm group norm per channel",
    "NCHW NHWC",
    "normalized_shape gain and bias",
    "RMSNorm mean",
    "turn gain bias off",
    "gain start 0 supplement",
    "weight decay gain bias",
    "zoneout recurrent dropout variational dropout",
    "batch size 1 batch norm refuses",
    "recurrent batch norm time step evaluation",
    "pre-norm post-norm",
    "export onnx",
    "gradient zero sum",
    "load weights nn.LSTM",
    "weight norm RNN",
    "true empirical Fisher",
    "Equation (13) right exact",
    "knob learning rate scale",
    "gradients explode vanish gain",
    "three biases forget",
    "released code epsilon bias before the norm",
    "one unit two sign",
    "DRAW nat bits",
    # of readers of explainers
    "batch normalization keep",
    "really work batch size 1",
    "where gain bias non-linearity",
    "layer norm of Transformers",
    "internal covariate shift",
    "instance norm even where a tutorial calls it layer norm",
    "flatten H, W and C each position channels",
    "same as batch norm with batch size 1",
    "LayerNorm takes the last axes",
    # of readers of executable books
    "next year dependency",
    "stale",
    "published fails",
    "number change",
    "host is gone",
    "how long machine",
    "solutions exercises",
    "figures server",
    "dark",
    "screen reader alternative text",
)


class Answer(NamedTuple):
    """One question: its group, its heading, what is said, and the code cells that follow."""

    group: str
    question: str
    text: str
    checks: tuple[str, ...]


def answers() -> list[Answer]:
    """The questions of the page in order."""
    found: list[Answer] = []
    group = ""
    for cell in NOTEBOOK.cells:
        head, _, text = cell.source.partition("\n")
        if head.startswith("## "):
            group = head[3:]
        elif head.startswith("### "):
            found.append(Answer(group, head[4:], " ".join(text.split()), ()))
        elif cell.cell_type == "code" and found:
            found[-1] = found[-1]._replace(checks=(*found[-1].checks, cell.source))
    return found


ANSWERS = answers()
every_answer = pytest.mark.parametrize("answer", ANSWERS, ids=lambda a: a.question)


def covers(answer: Answer, topic: str) -> bool:
    said = f"{answer.question} {answer.text}".casefold()
    return all(word in said for word in topic.casefold().split())


@pytest.mark.parametrize("topic", TOPICS)
def test_whoever_looks_for_a_topic_finds_an_answer(topic: str) -> None:
    assert any(covers(answer, topic) for answer in ANSWERS)


def test_a_topic_that_nobody_answers_is_seen() -> None:
    assert not any(covers(answer, "quantum annealing") for answer in ANSWERS)


def test_the_groups_stand_in_order_and_none_is_empty() -> None:
    assert tuple(dict.fromkeys(answer.group for answer in ANSWERS)) == GROUPS


def test_no_question_is_asked_twice_and_each_ends_as_one() -> None:
    questions = [answer.question for answer in ANSWERS]
    assert len(set(questions)) == len(questions) >= 35
    assert all("?" in question for question in questions)


def test_the_index_lists_every_question_because_the_page_makes_it_itself() -> None:
    index = NOTEBOOK.cells[1].source
    assert "```{contents}\n:local:\n:depth: 2\n" in index, "groups and questions: two levels of headings"
    assert ":backlinks: none" in index, "else every question is underlined as a link to the index"


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
def test_a_link_leads_to_a_page_of_the_book(answer: Answer) -> None:
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    pages = {Path(c["file"]).name for part in toc["parts"] for c in part["chapters"]}
    assert set(re.findall(r"\{doc\}`(\w+)`", answer.text)) <= pages


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

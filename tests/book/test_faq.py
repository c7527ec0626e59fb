"""The page of questions: each has one answer with one link, and one check that stands alone and can fail."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import nbformat

NOTEBOOK = nbformat.read(Path(__file__).resolve().parents[2] / "book" / "faq.ipynb", as_version=4)
CODE = [cell.source for cell in NOTEBOOK.cells if cell.cell_type == "code"]


def test_an_answer_has_one_link_and_one_check_that_needs_no_other_and_can_fail(tmp_path: Path) -> None:
    asked = [n for n, cell in enumerate(NOTEBOOK.cells) if cell.source.startswith("### ")]
    assert len({NOTEBOOK.cells[n].source.partition("\n")[0] for n in asked}) == len(asked) >= 35
    for n in asked:
        answer, check = NOTEBOOK.cells[n].source, NOTEBOOK.cells[n + 1]
        assert len(re.findall(r"\{doc\}`(\w+)`", answer)) == 1, "one chapter that goes deep"
        assert check.cell_type == "code", answer
        assert any(isinstance(node, ast.Assert | ast.Raise) for node in ast.walk(ast.parse(check.source))), (
            answer
        )
        alone = "\n".join([*CODE[1:3], check.source])  # the parameters, the imports
        (tmp_path / f"check_{n}.py").write_text(alone, encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "."]
    undefined = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not undefined.returncode, undefined.stdout

"""The page of questions: each answer has one link, and one check that stands alone and can fail."""

import re
import subprocess
import sys
from pathlib import Path

import nbformat

NOTEBOOK = nbformat.read(Path(__file__).resolve().parents[2] / "book" / "faq.ipynb", as_version=4)
CODE = [cell.source for cell in NOTEBOOK.cells if cell.cell_type == "code"]


def test_an_answer_has_one_link_and_one_check_that_needs_no_other_and_can_fail(tmp_path: Path) -> None:
    for n, (answer, check) in enumerate(zip(NOTEBOOK.cells, NOTEBOOK.cells[1:], strict=False)):
        if answer.source.startswith("### "):
            assert len(re.findall(r"\{doc\}`(\w+)`", answer.source)) == 1, "one chapter that goes deep"
            assert re.search(r"^ *(assert|raise) ", check.source, flags=re.MULTILINE), answer.source
            alone = "\n".join([*CODE[1:3], check.source])  # the parameters, the imports
            (tmp_path / f"check_{n}.py").write_text(alone, encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "."]
    undefined = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert not undefined.returncode, undefined.stdout

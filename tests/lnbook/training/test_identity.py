"""What a run is: a change that decides numbers makes it another one, and a change of words does not."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small import EXPERIMENT, jobs

from lnbook.cli.experiments import EXPERIMENTS, find
from lnbook.training import Machine
from lnbook.training.identity import code_digest, code_of, contents, identity

ROOT = Path(__file__).resolve().parents[3]
DRAW = "lnbook/pages/sec6_4_draw/experiment.py"


def test_settings_data_and_code_stand_side_by_side() -> None:
    (job, *_) = find("6.4").jobs("smoke", 3)
    found = identity(find("6.4"), job, "smoke", Machine(), contents(find("6.4"), [job], "smoke"))
    assert {key: found[key] for key in job} == job
    assert (found["scale"], found["dtype"], found["autocast"]) == ("smoke", "torch.float32", "None")
    assert found["data:binarized_digits"] == "embedded"
    assert len(found[f"code:{DRAW}"]) == 12
    assert code_digest(found) != code_digest(found | {f"code:{DRAW}": "0" * 12})
    assert code_digest(found) == code_digest(found | {"seed": 4})


@pytest.mark.parametrize("section", EXPERIMENTS)
def test_the_code_of_a_run_is_what_decides_its_numbers(section: str) -> None:
    code = set(code_of(find(section)))
    assert {f"lnbook/training/{name}.py" for name in ("batches", "loop", "measure", "record", "task")} <= code
    assert "lnlib/norms/standardize.py" in code
    assert not {file for file in code if file.startswith(("lnbook/ledger", "lnbook/figures", "lnbook/cli"))}
    assert not {file for file in code if file.startswith(("lnbook/data/entries", "lnlib/fisher"))}
    rooms = {file.split("/")[2] for file in code if file.startswith("lnbook/pages")}
    assert len(rooms) <= 1


def test_an_experiment_outside_of_the_packages_has_its_own_file_and_the_loop() -> None:
    code = code_of(EXPERIMENT)
    assert {"small.py", "lnbook/training/loop.py", "lnbook/training/distributed.py"} <= set(code)
    assert not {file for file in code if file.startswith("lnbook/data")}
    assert "data:" not in "".join(identity(EXPERIMENT, jobs("smoke", 0)[0], "smoke", Machine(), {}))


CHANGES = {  # of DRAW's experiment: what is replaced, by what, and whether it is another run then
    "a loss": ("return (log_loss + divergence).mean()", "return (log_loss + 2 * divergence).mean()", True),
    "a constant": ("clip = 10.0", "clip = 1.0", True),
    "a docstring": ("The two terms for each case.", "Both terms.", False),
    "a comment": ("select = ", "# of the bound\n    select = ", False),
    "where a setting comes from": ("| Learned. | 0.", "| Learned. | Zeros.", False),
    "how many runs a study has": ("(LARGER, seeds=8)", "(LARGER, seeds=9)", False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_line_makes_another_run_if_it_computes(tmp_path: Path, change: str) -> None:
    old, new, another = CHANGES[change]
    code = code_of(find("6.4"))
    for package in (ROOT / "lnlib", ROOT / "book" / "lnbook"):
        shutil.copytree(package, tmp_path / package.name, ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / DRAW
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    script = (
        "from lnbook.cli.experiments import find; from lnbook.training.identity import code_of\n"
        "print(*(f'{file} {digest}' for file, digest in code_of(find('6.4')).items()), sep='\\n')"
    )
    told = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    there = dict(line.split() for line in told.stdout.splitlines())
    assert {name for name in code if there[name] != code[name]} == ({DRAW} if another else set())

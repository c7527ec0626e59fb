"""Every experiment says where its settings come from, and what is recorded of it."""

import re
from math import sqrt
from pathlib import Path

import pytest

from lnbook.__main__ import main as lnbook
from lnbook.cli.experiments import EXPERIMENTS, find
from lnbook.cli.settings import LABELS, differences, recorded, settings_of
from lnbook.ledger.rows import write_rows


@pytest.mark.parametrize("section", EXPERIMENTS)
def test_an_experiment_says_where_each_setting_comes_from(
    section: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lnbook(["run", section, "--settings"]) == 0
    lines = capsys.readouterr().out.splitlines()
    labels = [line.partition(":")[0] for line in lines if not line.startswith(" ")]
    assert labels == list(settings_of(find(section)))
    assert all(re.fullmatch(r"[^:]+:( .*\S)?|  [^:]+: .*\S Here: .*\S", line) for line in lines)


@pytest.mark.parametrize("section", ["6.1", "6.3"])
def test_the_released_adam_is_as_much_faster_as_the_settings_say(section: str) -> None:
    rows = differences(settings_of(find(section))[LABELS["differs"]])
    told = next(theirs for what, theirs, _ in rows if what == "Adam's first steps")
    said = re.findall(r"(\d\.\d) times at (?:update )?([\d,]+)", told)
    assert len(said) == 5
    for factor, update in said:
        t = int(update.replace(",", ""))
        adam = sqrt(1 - 0.999**t) / (1 - 0.9**t)
        released = sqrt(1 - 0.001**t) / (1 - 0.1**t)  # 0.1 and 0.001 are the shares of what is new
        assert float(factor) == round(released / adam, 1)


def test_what_is_recorded_is_counted_in_runs_seeds_and_hours(tmp_path: Path) -> None:
    draw = find("draw")
    assert recorded(draw, tmp_path) == "nothing"
    facts = {"runs": [{"job": {"seed": seed}} for seed in (0, 0, 7)], "seconds": 5400}
    write_rows("draw", [{"seed": 0}], facts, scale="study", folder=tmp_path / "results")
    assert recorded(draw, tmp_path) == "study: 3 runs, 2 seeds, 1.5 h"
    facts["runs"][0]["commit"] = "a1b2+"
    write_rows("draw", [{"seed": 0}], facts, scale="study", folder=tmp_path / "results")
    assert recorded(draw, tmp_path).endswith("1.5 h, 1 of 3 runs recorded from a changed checkout")

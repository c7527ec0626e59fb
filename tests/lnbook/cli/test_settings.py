"""Every experiment says where its settings come from, and what is recorded of it."""

import re
from dataclasses import replace
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


@pytest.mark.parametrize("section", EXPERIMENTS)
def test_a_difference_says_what_the_original_has_and_what_scale_paper_has(section: str) -> None:
    words = settings_of(find(section))[LABELS["differs"]]
    rows = differences(words)
    assert len(rows) == (len(words.splitlines()) if "|" in words else 0)
    assert all(cell == cell.strip() != "" for row in rows for cell in row)
    assert len({what for what, *_ in rows}) == len(rows)


def test_what_is_recorded_is_counted_in_runs_seeds_and_hours(tmp_path: Path) -> None:
    draw = find("draw")
    assert recorded(draw, tmp_path) == "nothing"
    facts = {"runs": [{"job": {"seed": seed}} for seed in (0, 0, 7)], "seconds": 5400}
    write_rows("draw", [{"seed": 0}], facts, scale="study", folder=tmp_path / "results")
    assert recorded(draw, tmp_path) == "study: 3 runs, 2 seeds, 1.5 h"
    facts["runs"][0]["commit"] = "a1b2+"
    write_rows("draw", [{"seed": 0}], facts, scale="study", folder=tmp_path / "results")
    assert recorded(draw, tmp_path).endswith("1.5 h, 1 of 3 runs recorded from a changed checkout")


def test_an_experiment_without_settings_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="draw does not say where its settings come from"):
        settings_of(replace(find("draw"), settings=None))

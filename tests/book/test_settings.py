"""What the settings say of Adam is so, and what is recorded is counted."""

import re
from math import sqrt

import pytest
from ledger import differences, runs_recorded

from lnbook.cli.experiments import find
from lnbook.ledger.rows import write_rows


@pytest.mark.parametrize("section", ["6.1", "6.3"])
def test_the_released_adam_is_as_much_faster_as_the_settings_say(section):
    rows = differences(find(section).settings.differs)
    told = next(theirs for what, theirs, _ in rows if what == "Adam's first steps")
    said = re.findall(r"(\d\.\d) times at (?:update )?([\d,]+)", told)
    assert len(said) == 5
    for factor, update in said:
        t = int(update.replace(",", ""))
        adam = sqrt(1 - 0.999**t) / (1 - 0.9**t)
        released = sqrt(1 - 0.001**t) / (1 - 0.1**t)  # 0.1 and 0.001 are the shares of what is new
        assert float(factor) == round(released / adam, 1)


def test_what_is_recorded_is_counted_in_runs_seeds_and_hours(tmp_path):
    draw = find("draw")
    assert runs_recorded(draw, tmp_path) == ""
    runs = [{"job": {"seed": seed}, "commit": commit} for seed, commit in ((0, "a"), (0, "b+"), (7, "a"))]
    facts = {"runs": runs, "seconds": 5400}
    write_rows("draw", [{"seed": 0}], facts, scale="study", folder=tmp_path / "results")
    said = "study: 3 runs, 2 seeds, 1.5 h, 1 of 3 runs recorded from a changed checkout"
    assert runs_recorded(draw, tmp_path) == said

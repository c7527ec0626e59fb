"""What an update costs, on tasks whose costs are known."""

import sys

import pytest
from stepping import EXPERIMENT, now

from lnbook.shared.steps.costs import step_costs, table
from lnbook.shared.steps.profile import PARTS

NAMES = {"none": "no norm", "layer": "layer norm"}


def test_rows_hold_settings_times_ratios_shares_padding_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lnbook.shared.steps.costs.time.process_time", now)
    one, other = step_costs(EXPERIMENT, "smoke", rounds=3, updates=1, memory=True)
    assert (one["norm"], other["norm"], other["kept"]) == ("none", "layer", 64)
    assert (one["ms"], other["ms"]) == (pytest.approx(8), pytest.approx(64))
    assert one["ratio"] == one["ratio_low"] == one["ratio_high"] == 1
    assert other["ratios"] == [other["ratio"]] * 3 == pytest.approx([8] * 3)
    assert (other["ratio_low"], other["ratio_high"]) == (other["ratio"], other["ratio"])
    assert sum(other[part] for part in PARTS) == pytest.approx(1)
    assert one["padding"] == pytest.approx(0.25)  # one step of four, as half of the sequences have one of two
    if sys.platform == "linux":
        # What is kept and the scratch of the way back, to what the allocator and the count of pages add.
        assert one["step_mb"] == pytest.approx(2 * 8, abs=2)
        assert other["step_mb"] == pytest.approx(2 * 64, abs=2)


def made() -> list[dict]:
    shares = dict(zip(PARTS, (0.5, 0.2, 0.1, 0.1, 0.1), strict=True))
    return [
        {"norm": "none", "ms": 10.0, "ratio": 1.0, **shares, "step_mb": 100.4},
        {"norm": "layer", "ms": 20.0, "ratio": 2.0, **shares, "step_mb": 2000.0},
    ]


def test_the_table_has_a_line_a_norm() -> None:
    shown = table(made(), NAMES)
    assert shown.header[:3] == ["", "Milliseconds", "Times no norm"]
    assert shown.rows[1] == ["layer norm", "20.0", "2.00", "50", "20", "10", "10", "10", "2,000"]
    without = [{key: value for key, value in row.items() if key != "step_mb"} for row in made()]
    assert len(table(without, NAMES).header) == len(shown.header) - 1

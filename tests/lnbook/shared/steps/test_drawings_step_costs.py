"""The rows of `step_costs` become bars and a table."""

import numpy as np
import pytest
from legible import READABLE, smallest
from matplotlib.patches import Rectangle

from lnbook.shared.steps import drawings
from lnbook.shared.steps.costs import table
from lnbook.shared.steps.profile import PARTS

NAMES = {"none": "no norm", "layer": "layer norm"}


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


def test_bars_are_as_long_as_the_times_and_parted_by_the_shares() -> None:
    fig = drawings.bars(made(), NAMES)
    (ax,) = fig.axes
    widths = np.array([bar.get_width() for bar in ax.patches if isinstance(bar, Rectangle)]).reshape(
        2, len(PARTS)
    )
    assert widths.sum(1).tolist() == pytest.approx([10, 20])
    assert widths[1, 0] == pytest.approx(10)
    assert smallest(fig) >= READABLE
    said = [text.get_text().strip() for text in ax.texts]
    assert said == ["10", "20, times 2.00"]

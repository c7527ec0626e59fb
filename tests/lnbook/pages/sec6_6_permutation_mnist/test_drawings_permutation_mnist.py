"""Section 6.6's drawings take what was computed and return a figure that fits a page."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import pytest

from lnbook.curves import Mean
from lnbook.figures import plots
from lnbook.pages.sec6_6_permutation_mnist import drawings

CURVE: dict[str, Sequence[float]] = {
    "update": [1, 2, 3],
    "mean": [0.4, 0.2, 0.1],
    "low": [0.3, 0.1, -0.1],
    "high": [0.5, 0.3, 9.0],
}
NORMS = ("none", "batch", "layer")
MISSING = Mean(float("nan"), None, None, 1)


def test_learning_has_losses_above_errors_a_column_a_batch_size_and_room_for_the_means() -> None:
    both = {"train_loss": dict.fromkeys(NORMS, CURVE), "test_error": {"batch": CURVE}}
    fig = drawings.learning({128: both, 4: both})
    above, other, below, _ = fig.axes
    assert [ax.get_title() for ax in (above, other)] == ["batch of 128", "batch of 4"]
    assert [line.get_color() for line in above.lines] == [plots.COLORS[n] for n in NORMS]
    assert len(below.lines) == 1
    assert above.get_ylim() == pytest.approx((0.1 / 1.5, 0.6))  # the wide interval does not count
    assert plots._svg(fig, "learning")


def test_the_first_epoch_shades_what_normalized_logits_cannot_reach() -> None:
    fig = drawings.first_epoch(dict.fromkeys(drawings.LABELS, CURVE), ([0, 1, 2], [0.28, 0.27, 0.26]))
    (ax,) = fig.axes
    floor, *bands = ax.collections
    assert floor.get_paths()[0].get_extents().y1 == pytest.approx(0.28)
    assert len(bands) == len(ax.lines) == len(drawings.LABELS)
    looks = {(line.get_color(), str(line.get_linestyle()), line.get_linewidth()) for line in ax.lines}
    assert len(looks) == len(drawings.LABELS)  # no two alike
    assert plots._svg(fig, "first")


def test_factors_along_the_fall_have_a_line_a_criterion_that_ends_with_the_median() -> None:
    found = pd.DataFrame(
        {"share": [0.0, 1.0], "median": [2.0, np.nan], "low": [1.5, 0.0], "high": [3.0, np.inf]}
    )
    fig = drawings.along(pd.concat(dict.fromkeys(("lowest", "last", "errors"), found)))
    (ax,) = fig.axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["lowest", "last", "errors"]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [2.0, np.nan])
    assert plots._svg(fig, "along")


def test_settings_draw_a_line_a_norm_and_nothing_for_what_was_not_run() -> None:
    some = {4.0: Mean(5.0, 4.0, 6.0, 3), 128.0: Mean(2.0, -1.0, 5.0, 5)}
    none = dict.fromkeys((1e-4, 1e-3), MISSING)
    fig = drawings.settings({"size": dict.fromkeys(NORMS, some), "rate": dict.fromkeys(NORMS, none)})
    left, _ = fig.axes
    assert [tick.get_text() for tick in left.get_xticklabels()] == ["4", "128"]
    assert left.get_ylim() == pytest.approx((2 / 1.5, 7.5))
    for container in left.containers:
        (bars,) = container[2]
        assert min(float(s[0, 1]) for s in bars.get_segments()) > 0  # on a log axis
    assert plots._svg(fig, "settings")


def test_confidence_has_a_line_where_sure_and_right_agree() -> None:
    curves = dict.fromkeys((*NORMS, "layer, logits too"), CURVE)
    fig = drawings.confidence(curves, curves)
    left, right = fig.axes
    np.testing.assert_array_equal(left.lines[-1].get_ydata(), [0, 0])
    assert right.get_ylim() == pytest.approx((0, 1.2 * 0.4))
    assert right.get_legend() is not None
    assert plots._svg(fig, "confidence")

"""The drawings of distributed training take what was measured and return a figure that fits a page."""

import numpy as np
from legible import READABLE, smallest

from lnbook.figures import plots
from lnbook.pages.beyond_distributed import drawings


def test_each_cut_has_one_message_on_it_in_the_color_of_the_norm_it_goes_through() -> None:
    fig = drawings.cuts()
    for ax, color in zip(fig.axes, (drawings.BATCH, drawings.LAYER), strict=True):
        cut, message = ax.lines
        assert message.get_color() == color
        by_case = ax is fig.axes[0]
        (x,), (y,) = message.get_data()
        assert (y if by_case else x) == cut.get_data()[by_case][0]
        assert sum(t.get_text() == "message" for t in ax.texts) == 1
    assert smallest(fig) >= READABLE
    assert plots._svg(fig, "cuts")


def test_parted_batches_have_a_median_line_and_dots_for_each_norm() -> None:
    sizes = (2, 8, 32)
    lines = {
        name: np.array([[80.0, 82, 90], [40, 44, 45], [20, 21, 22]]) for name in ("other cases", "batch")
    }
    lines["layer"] = np.zeros((3, 3))
    fig = drawings.parted(sizes, {"two": lines, "many": lines}, 64)
    left, right = fig.axes
    np.testing.assert_array_equal(left.lines[0].get_ydata(), [82, 44, 21])
    assert len(left.lines) == 1 + 2 * (3 + 1)
    assert right.get_title().startswith("64 cases")
    assert smallest(fig) >= READABLE
    assert plots._svg(fig, "parted")


def test_messages_mark_two_sizes_and_name_each_norm_at_the_end_of_its_line() -> None:
    steps = {
        n: np.array([[1e-3, 2e-3], [3e-3, 5e-3]]) * k for k, n in enumerate(("layer", "batch", "sync"), 1)
    }
    seconds = np.array([[1e-4, 2e-4], [1e-4, 3e-4], [1e-2, 1e-2]])
    fig = drawings.messages([1, 100, 10**6], seconds, {"small": 40, "large": 4 * 10**6}, (2, 4), steps)
    left, right = fig.axes
    np.testing.assert_allclose(left.lines[0].get_ydata(), [0.15, 0.2, 10])
    assert [line.get_xdata()[0] for line in left.lines[1:]] == [40, 4 * 10**6]
    assert [t.get_text() for t in right.texts] == ["layer", "batch", "batch, sync"]
    assert smallest(fig) >= READABLE
    assert plots._svg(fig, "messages")

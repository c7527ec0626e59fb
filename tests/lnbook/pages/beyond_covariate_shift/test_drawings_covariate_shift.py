"""The covariate shift chapter's drawings show the numbers they are given, and fit a page."""

import numpy as np
import pytest

from lnbook.figures import plots
from lnbook.pages.beyond_covariate_shift import drawings
from lnbook.shared.shift import Group, Network, Run


def drawn(fig) -> bool:
    return len(plots._svg(fig, "drawn")) > 0


def test_each_run_is_a_dot_of_its_shift_and_loss() -> None:
    network = Network((2, 2), seed=0)

    def run(loss: float, step: float) -> Run:
        received = np.ones((10, 2, 2, 1))
        received[:, 1, 0] = step * np.arange(10.0)[:, None]
        return Run(np.full(10, loss), received, network)

    groups = {
        name: Group(0.1, [run(0.5 / k, 0.1 * k), run(0.4 / k, 0.2 * k)])
        for k, name in enumerate(("plain", "normed", "noisy"), 1)
    }
    fig = drawings.shift_and_loss(groups)
    (ax,) = fig.axes
    for line, (name, group) in zip(ax.lines, groups.items(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), group.shift)
        np.testing.assert_array_equal(line.get_ydata(), group.loss)
        assert line.get_label() == name
    assert drawn(fig)


def test_trust_shows_geometric_means_against_the_falling_loss() -> None:
    run = {
        "loss": np.array([[2.0, 1.0], [2.0, 0.25]]),
        "sharpness": np.array([[1.0, 4.0], [4.0, 4.0]]),
        "reach": np.array([[0.5, 0.5], [0.5, 2.0]]),
    }
    fig = drawings.trust({"two": {"none": run, "layer": run}, "eight": {"layer": run}})
    top, _, bottom, _ = fig.axes
    np.testing.assert_allclose(top.lines[0].get_xdata(), [2.0, 0.5])
    np.testing.assert_allclose(top.lines[0].get_ydata(), [2.0, 4.0])
    np.testing.assert_allclose(bottom.lines[1].get_ydata(), [0.5, 1.0])
    left, right = top.get_xlim()
    assert left > right, "the loss falls to the right"
    assert drawn(fig)


@pytest.mark.parametrize("count", [1, 3])
def test_by_rate_has_a_line_and_a_band_for_each_method(count) -> None:
    points = {0.001: (0.5, 0.4, 0.6), 0.003: (0.3, 0.2, 0.4)}
    panels = {str(k): {"none": points, "both detached": points} for k in range(count)}
    fig = drawings.by_rate(panels)
    for ax in fig.axes:
        assert [line.get_label() for line in ax.lines] == ["no norm", "both detached"]
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), [0.001, 0.003])
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), [0.5, 0.3])
        assert len(ax.collections) == 2
    assert drawn(fig)

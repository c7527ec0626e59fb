"""The dynamics chapter's drawings show the numbers they are given, and fit a page."""

import numpy as np
import pytest

from lnbook.figures import plots
from lnbook.pages.beyond_dynamics import drawings

BARS = [(0.0, -0.1, 0.1), (0.5, 0.4, 0.7)]


def drawn(fig) -> bool:
    return len(plots._svg(fig, "drawn")) > 0


def heights(ax) -> list[list[float]]:
    """Means of the error bars on an axis."""
    return [list(container.lines[0].get_ydata()) for container in ax.containers]


def test_parting_shows_the_copies_while_they_part_and_the_expected_rates() -> None:
    steps = np.arange(300)
    distances = {"up": np.minimum(1e-6 * np.exp(0.1 * steps), 1.0), "down": 1e-6 * np.exp(-0.5 * steps)}
    unit = np.stack([np.sin(steps), np.cos(steps)], 1)
    fig = drawings.parting(
        unit, distances | {"still": np.full(300, 1e-6)}, {"up": 0.1, "down": -0.5, "still": 0.0}
    )
    left, right = fig.axes
    window = left.lines[0].get_xdata()
    assert window[0] < np.log(1e5) / 0.1 < window[-1], "the distance reaches a tenth within the window"
    np.testing.assert_array_equal(left.lines[1].get_ydata(), unit[window, 1])
    expected, shown = (right.lines[k].get_ydata() for k in (2, 3))
    np.testing.assert_allclose(expected, shown, rtol=1e-9)
    assert drawn(fig)


def test_by_gain_has_a_line_and_bars_for_each_norm() -> None:
    gains = np.array([0.1, 1.0, 10.0])
    curves = {"layer": np.array([0.0, 0.1, 0.5]), "none": np.array([-2.0, 0.0, 0.4])}
    fig = drawings.by_gain(gains, curves, (0.1, 1.0), {"layer": BARS, "none": BARS[::-1]})
    assert heights(fig.axes[0]) == [[0.0, 0.5], [0.5, 0.0]]
    assert [t.get_text() for t in fig.axes[0].get_xticklabels()] == ["0.1", "1"]
    assert drawn(fig)


def test_by_share_draws_the_theory_the_bars_and_where_copies_part() -> None:
    fine, gains = np.linspace(0.1, 1, 5), np.linspace(0.1, 3, 7)
    curves = {g: np.log(fine) + g for g in (0.5, 1.0, 2.0)}
    fig = drawings.by_share(fine, curves, (0.2, 1.0), dict.fromkeys(curves, BARS), gains, 1 / (1 + gains))
    left, right = fig.axes
    assert heights(left) == [[0.0, 0.5]] * 3
    np.testing.assert_allclose(right.lines[0].get_ydata(), 1 / (1 + gains))
    assert {t.get_text() for t in right.texts} == {"copies part", "copies meet"}
    assert drawn(fig)


def test_by_size_names_the_sizes_and_ends_in_the_limits() -> None:
    gains = (0.3, 0.5, 1.0, 2.0)
    fig = drawings.by_size((16, 64), dict.fromkeys(gains, BARS), {g: g / 10 for g in gains})
    ax = fig.axes[0]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["16", "64", r"$\infty$"]
    assert {0.03, 0.05, 0.1, 0.2} <= {line.get_ydata()[-1] for line in ax.lines}
    assert drawn(fig)


def test_gradients_are_drawn_in_powers_of_ten_with_labels_that_do_not_overlap() -> None:
    lag = np.arange(9)
    curve = np.stack([10.0 ** (-k * lag / 8) for k in (90, 50, 1, 0)], 1)
    rates = {n: [-k * np.log(10) / 8 for k in (90, 50, 1, 0)] for n in ("none", "layer")}
    fig = drawings.gradients({"none": curve, "layer": curve}, rates, (0.1, 0.3, 1.0, 3.0))
    for ax, letter in zip(fig.axes, "sg", strict=True):
        np.testing.assert_allclose(ax.lines[0].get_ydata(), -90 * lag / 8)
        np.testing.assert_allclose(ax.lines[1].get_ydata()[-1], -90)  # theory ends where the curve does
        places = sorted(t.get_position()[1] for t in ax.texts)
        assert np.diff(places).min() >= 7 - 1e-9
        assert ax.texts[0].get_text() == f"${letter} = 0.1$"
    assert drawn(fig)


@pytest.mark.parametrize("panels", [("no input", "inputs")])
def test_lstms_have_a_panel_a_strength_and_one_legend(panels) -> None:
    measured = {name: [BARS, BARS[::-1]] for name in ("paper", "joint", "none")}
    fig = drawings.lstms((0.0, 2.0), panels, measured)
    assert [ax.get_title() for ax in fig.axes] == list(panels)
    assert heights(fig.axes[1]) == [[0.5, 0.0]] * 3
    assert len(fig.legends) == 1
    assert drawn(fig)

"""The drawings of the page take what was computed and return a figure that fits a page."""

import numpy as np

from lnbook.figures import plots
from lnbook.pages.beyond_learning_rates import drawings


def test_a_step_draws_the_prediction_and_both_ways():
    sizes = np.array([0.1, 1.0, 10.0])
    fig = drawings.steps(sizes, {"gradient descent": sizes + 1, "Adam": sizes + 2})
    line, *marks = fig.axes[0].lines
    np.testing.assert_array_equal(line.get_ydata(), np.sqrt(1 + sizes**2))
    for k, mark in enumerate(marks):
        np.testing.assert_array_equal(mark.get_ydata(), sizes + 1 + k)
    assert plots._svg(fig, "steps")


def test_turns_draw_each_layer_beside_the_line_of_equality():
    predicted, found = np.array([0.03, 0.1]), np.array([[0.03, 0.04, 0.05], [0.1, 0.11, 0.12]])
    fig = drawings.turns({"one": (predicted, found), "two": (predicted, found)}, (0.01, 0.2))
    for ax in fig.axes:
        line, *layers = ax.lines
        assert list(line.get_xdata()) == list(line.get_ydata()) == [0.01, 0.2]
        np.testing.assert_array_equal([mark.get_ydata() for mark in layers], found.T)
    assert plots._svg(fig, "turns")


def test_tasks_draw_every_seed_the_mean_and_the_length():
    losses = {"free": np.array([[1.0, 4.0], [1.0, 1.0]]), "held": np.ones((2, 2))}
    lengths = {"free": np.array([1.0, 2.0]), "held": np.ones(2)}
    fig = drawings.tasks(losses, lengths)
    left, right = fig.axes
    np.testing.assert_allclose(left.lines[2].get_ydata(), [1, 2])
    np.testing.assert_array_equal(right.lines[0].get_ydata(), [1, 2])
    assert plots._svg(fig, "tasks")


def test_eigenvalues_draw_every_network_and_the_mean_by_norm():
    found = {
        name: np.array([[1.0, 4.0], [4.0, 4.0]]) * k for k, name in enumerate(("none", "batch", "layer"), 1)
    }
    fig = drawings.eigenvalues([32, 64], found)
    means = fig.axes[0].lines[2::3]
    for k, line in enumerate(means, 1):
        np.testing.assert_allclose(line.get_ydata(), [2 * k, 4 * k])
    assert plots._svg(fig, "eigenvalues")


def test_only_eigenvalues_by_norm_have_the_hue_of_a_norm():
    curve, runs = np.array([0.1, 1.0]), np.ones((2, 2))
    figures = (
        drawings.steps(curve, {"gradient descent": curve, "Adam": curve}),
        drawings.turns(dict.fromkeys(("one", "two"), (curve, np.ones((2, 3)))), (0.1, 1.0)),
        drawings.tasks({"free": runs, "held": runs}, {"free": curve, "held": curve}),
    )
    hues = {line.get_color() for fig in figures for ax in fig.axes for line in ax.lines}
    assert not hues & set(plots.COLORS.values())

"""Section 3.1's drawings take what was measured and return a figure that a phone can show."""

import numpy as np
import torch
from legible import READABLE, smallest
from matplotlib.figure import Figure

from lnbook.figures import plots
from lnbook.pages.sec3_1_recurrent import drawings
from lnbook.pages.sec3_1_recurrent.measure import EDGES, Run
from lnlib.rnn import LSTM
from lnlib.rnn.diagnostics import diagnose


def fits(fig: Figure, name: str) -> bool:
    return smallest(fig) >= READABLE and bool(plots._svg(fig, name))


def runs(norm: str, factor: float = 1.0, beyond: float = 80.0) -> list[Run]:
    return [
        Run(norm, factor, seed, False, -0.1 * factor, 90.0, beyond, [90.0, beyond, beyond]) for seed in (0, 1)
    ]


def test_drift_names_each_line_at_its_end():
    lines = {"1.1x": 1.1 ** np.arange(1, 41), "layer norm": np.ones(40)}
    fig = drawings.drift(lines, {"ReLU, 2x": 2.0 ** np.arange(30)})
    left, right = fig.axes
    assert [t.get_text() for t in left.texts] == ["1.1x", "layer norm"]
    assert left.texts[0].xy == (40, lines["1.1x"][-1])
    assert left.lines[1].get_color() == plots.COLORS["layer"]
    np.testing.assert_array_equal(right.lines[0].get_ydata(), 2.0 ** np.arange(30))
    assert fits(fig, "drift")


def test_gradients_draw_lags_and_seeds_and_their_means():
    lags = {(norm, f): np.full(10, f) for norm in ("none", "layer") for f in (0.5, 4)}
    growth = {"none": np.array([[0.0, 1.0, 2.0], [2.0, 3.0, 4.0]]), "separate": np.zeros((2, 3))}
    fig = drawings.gradients(lags, (0.5, 1, 2), growth)
    left, right = fig.axes
    assert len(left.lines) == 4
    np.testing.assert_array_equal(right.lines[0].get_ydata(), [1, 2, 3])
    assert [t.get_text() for t in right.get_legend().get_texts()] == ["plain", "separate"]
    assert fits(fig, "gradients")


def test_trained_networks_are_drawn_at_the_factor_they_started_from():
    found = [r for norm in ("none", "layer") for f in (0.5, 4) for r in runs(norm, f, beyond=10 * f)]
    fig = drawings.trained(found)
    left, right = fig.axes
    np.testing.assert_array_equal(left.lines[0].get_xdata(), [0.5, 4])
    np.testing.assert_array_equal(left.lines[0].get_ydata(), [5, 40])
    np.testing.assert_allclose(right.lines[0].get_ydata(), [-0.05, -0.4])
    assert fits(fig, "trained")


def test_long_streams_stand_in_the_middle_of_their_steps():
    fig = drawings.long_streams(
        {"layer norm": runs("layer"), "batch norm, any first row": runs("batch")}, EDGES
    )
    (ax,) = fig.axes
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [20, 100, 1000**0.5 * 200**0.5])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [90, 80, 80])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["layer norm", "batch norm, any first row"]
    assert fits(fig, "long")


def test_a_diagnosis_draws_medians_of_the_cases():
    found = diagnose(LSTM(3, 8), torch.randn(12, 5, 3, generator=torch.Generator().manual_seed(0)))
    fig = drawings.diagnosis(found)
    spread = found.trace.std.quantile(0.5, dim=1)
    np.testing.assert_allclose(fig.axes[0].lines[1].get_ydata(), spread, rtol=1e-5)
    np.testing.assert_array_equal(fig.axes[3].lines[0].get_ydata(), found.gradient_by_lag)
    assert fits(fig, "diagnosis")

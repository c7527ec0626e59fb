"""Section 5.2's drawings take what was computed and return a figure that fits a page."""

import numpy as np
import pytest
import torch
from legible import READABLE, smallest

from lnbook.figures import plots
from lnbook.pages.sec5_2_geometry import curvature, drawings


def drawn(fig, name: str) -> str:
    assert smallest(fig) >= READABLE
    return plots._svg(fig, name)


def test_orders_draw_the_divergence_above_what_is_missed() -> None:
    steps = np.geomspace(1e-3, 1e-1, 3)
    fig = drawings.orders(steps, steps**2, {"none": steps**3, "layer": 2 * steps**3})
    divergence, *missed = fig.axes[0].lines
    np.testing.assert_array_equal(divergence.get_ydata(), steps**2)
    assert [line.get_label() for line in missed] == ["no norm", "layer norm"]
    assert drawn(fig, "orders")


def test_fisher_images_share_one_scale_around_zero_and_name_every_block() -> None:
    F = torch.arange(64.0, dtype=torch.float64).reshape(8, 8)
    fig = drawings.fisher_images({"exact": F, "printed": -2 * F}, H=2, D=2)
    images = [ax.images[0] for ax in fig.axes if ax.images]
    assert [image.get_clim() for image in images] == [(-126, 126)] * 2
    labels = [text.get_text() for text in fig.axes[0].get_yticklabels()]
    assert labels == ["$w_1$", "$b_1$", "$g_1$", "$w_2$", "$b_2$", "$g_2$"]
    assert drawn(fig, "images")


def test_the_error_of_the_print_has_a_dot_a_seed_and_a_row_a_direction() -> None:
    bands = np.full((3, 4), 0.5), np.full((3, 4), 0.8)
    seen = {"any": (1.0, 0.9), "scale": (0.0, 0.7), "shift": (0.0, 0.8)}
    fig = drawings.print_error((4, 8, 16, 32), *bands, 1.2, seen)
    left, right = fig.axes
    assert sum(line.get_marker() in {"o", "s"} for line in left.lines) == 6
    assert [text.get_text() for text in right.get_yticklabels()][1] == "scale $W$"
    assert drawn(fig, "error")


def test_a_ball_without_curvature_along_the_weights_is_a_strip_as_wide_as_they_are_long() -> None:
    panels = curvature.planes((1, 3))
    fig = drawings.balls(panels)
    half = {}
    for ax, title in zip(fig.axes, panels, strict=True):
        arrows = [t for t in ax.texts if t.arrow_patch is not None]
        strip = title in ("batch", "weight", "layer:\nwhole $W$")
        assert len(arrows) == (2 if strip else 0), title
        half[title] = [max(abs(line.get_xdata())) for line in ax.lines if len(line.get_xdata()) > 1]
    # a first ball 0.5 wide; an ellipse is drawn at 200 points, and its axes may be tilted a little
    assert [sides[0] for sides in half.values()] == pytest.approx([0.25] * 5, rel=0.01)
    assert max(half["batch"]) == pytest.approx(0.75, rel=1e-9)
    assert max(half["none"]) == pytest.approx(0.25, rel=0.01)
    assert drawn(fig, "balls")


def test_rates_and_settling_draw_every_run() -> None:
    growth = {rate: np.linspace(1, rate + 1, 20) for rate in (0.1, 1.0, 10.0)}
    losses = {name: np.full((2, 3), 0.5) for name in ("free", "held", "plain")}
    left, right = drawings.rates(growth, losses, (0.1, 1.0, 10.0)).axes
    assert len(left.lines) == 3
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["free", "held", "plain"]
    assert drawn(left.figure, "rates")
    fig = drawings.settling({1.0: np.ones(20), 3.0: np.ones(20)}, {1.0: np.ones(20)}, 0.5, 0.1)
    assert [len(ax.lines) for ax in fig.axes] == [3, 2]
    assert drawn(fig, "settling")

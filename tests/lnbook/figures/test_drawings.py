"""Section 3's drawings take what was computed and return a figure that fits a page."""

import numpy as np
import pytest
import torch

from lnbook.figures import plots
from lnbook.pages.sec3_layer_normalization import drawings


def drawn(fig, name: str) -> str:
    return plots._svg(fig, name)


def test_curves_keep_every_line_and_its_name() -> None:
    _, ax = drawings.curves([1.0, 10.0], {"a": [0.0, 1.0], "b": [1.0, 0.0]}, ours=["b"])
    assert [line.get_label() for line in ax.lines] == ["a", "b"]
    assert ax.lines[1].get_color() == plots.COLORS["layer"]
    assert ax.get_xscale() == "log"


def test_directions_and_dots_draw_percent() -> None:
    share = np.linspace(0.5, 1.0, 20)
    names = ("ReLU", "ReLU, random step", "tanh", "tanh, random step", "independent")
    shares = {name: share / k for k, name in enumerate(names, 1)}
    fig = drawings.directions_and_dots(shares, {"ReLU": [10.0, 12.0], "tanh": [2.0, 3.0]}, chance=1.0)
    left, right = fig.axes
    np.testing.assert_allclose(left.lines[0].get_ydata(), 100 * share)
    assert [list(line.get_ydata()) for line in right.lines[:2]] == [[10.0, 12.0], [2.0, 3.0]]
    assert drawn(fig, "dots")


def test_couplings_are_transparent_where_nothing_moves() -> None:
    fig = drawings.couplings({"layer": torch.eye(6), "batch": torch.ones(6, 6)}, cases=2)
    layer, batch = (np.asarray(ax.images[0].get_array()) for ax in fig.axes)
    assert layer[..., 3].sum() == 6
    assert batch[..., 3].min() == 1


def test_the_projection_ends_on_the_circle() -> None:
    case = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64)
    output = (case - case.mean()) / case.std(correction=0)
    spectra = {"layer": [1.0, 0.0, 0.0], "rms": [1.0, 1.0, 0.0]}
    fig = drawings.projection(torch.randn(5, 3, dtype=torch.float64), case, output, case, 0 * case, spectra)
    ends = [line.get_xydata()[0] for line in fig.axes[0].lines if len(line.get_xydata()) == 1]
    assert np.linalg.norm(ends[-1]) == pytest.approx(3**0.5)
    assert drawn(fig, "projection")

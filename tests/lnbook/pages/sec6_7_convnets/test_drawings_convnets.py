"""Section 6.7's pictures show the numbers they are given."""

import pytest
import torch
from legible import READABLE, smallest
from matplotlib.colors import to_rgba

from lnbook.figures import plots
from lnbook.pages.sec6_7_convnets import drawings as convnets

NORMS = ("none", "batch", "layer", "position", "group", "instance")
MEAN = (1.0, 0.8, 1.3)


def curve(k: int) -> dict[str, list[float]]:
    return {"update": [1, 2], "mean": [k, k + 1.0], "low": [k - 0.1, k], "high": [k + 0.1, k + 1.5]}


def test_curves_draw_a_line_a_norm_and_bands_for_those_named() -> None:
    lines = {norm: curve(k) for k, norm in enumerate(NORMS)}
    fig = convnets.curves({"one": lines, "two": lines}, banded=("none", "layer"))
    for ax in fig.axes:
        assert [line.get_ydata().tolist() for line in ax.lines] == [[k, k + 1.0] for k in range(6)]
        assert len(ax.collections) == 2
    looks = {(line.get_color(), str(line.get_linestyle())) for line in fig.axes[0].lines}
    assert len(looks) == 6


def test_maps_share_one_scale_from_0_to_1() -> None:
    rows = {name: [torch.full((3, 3), 0.25), torch.full((2, 2), 0.75)] for name in ("a", "b", "c")}
    fig = convnets.layer_maps(rows, "share")
    images = [ax.images[0] for ax in fig.axes[:6]]
    assert [float(image.get_array().mean()) for image in images] == [0.25, 0.75] * 3
    assert {image.get_clim() for image in images} == {(0, 1)}
    assert [ax.get_title() for ax in fig.axes[:2]] == ["layer 1", "layer 2"]
    assert [ax.get_ylabel() for ax in fig.axes[0:6:2]] == ["a", "b", "c"]


@pytest.mark.parametrize("count", [2, 3])
def test_ratios_by_layer_stand_beside_a_line_at_one(count: int) -> None:
    series = {str(k): [MEAN, (1.5, 1.4, 1.7), (2.0, 1.9, 2.1)] for k in range(count)}
    fig = convnets.by_layer({"left": series, "right": series}, "ratio")
    for ax in fig.axes:
        assert ax.lines[0].get_ydata() == [1, 1]
        assert [c.lines[0].get_ydata().tolist() for c in ax.containers] == [[1.0, 1.5, 2.0]] * count


def test_dots_stand_at_their_means_with_their_intervals() -> None:
    means = {"batch": (-1.0, -2.0, 0.5), "a thing of its own": (2.0, 1.0, 3.0)}
    (ax,) = convnets.dots({"loss": means}, xlabel="percent").axes
    assert [c.lines[0].get_xdata()[0] for c in ax.containers] == [-1.0, 2.0]
    segments = [c.lines[2][0].get_segments()[0][:, 0].tolist() for c in ax.containers]
    assert segments == [[-2.0, 0.5], [1.0, 3.0]]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["batch norm", "a thing of its own"]
    assert ax.containers[0].lines[0].get_color() == plots.COLORS["batch"]


def test_parts_are_bars_in_percent() -> None:
    (ax,) = convnets.parts({"a": [(0.5, 0.4, 0.6)], "b": [(0.01, -0.01, 0.03)]}, ylabel="%").axes
    heights = [patch.get_height() for patch in ax.patches]
    assert heights == pytest.approx([50, 1])
    assert {patch.get_facecolor() for patch in ax.patches} == {
        to_rgba(plots.OTHERS[name]) for name in ("teal", "red")
    }


def test_norms_without_a_color_of_their_own_take_no_other_norms() -> None:
    lines = {norm: curve(1) for norm in convnets.LABELS if "," not in norm}
    ax = convnets.curves({"one": lines}, banded=()).axes[0]
    drawn = {norm: line.get_color() for norm, line in zip(lines, ax.get_lines(), strict=True)}
    theirs = {norm for norm, color in drawn.items() if color in plots.COLORS.values()}
    assert theirs == {"none", "batch", "layer", "position"}  # the last has a line style of its own


def test_pictures_can_be_read_on_a_phone() -> None:
    series = {str(k): [MEAN, MEAN] for k in range(2)}
    figures = [
        convnets.curves({"one": {"none": curve(1)}, "two": {"none": curve(1)}}, banded=()),
        convnets.by_layer({"left": series, "mid": series, "right": series}, "ratio"),
        convnets.dots({"loss": {"batch": MEAN}, "error": {"batch": MEAN}}, xlabel="percent"),
    ]
    for fig in figures:
        assert smallest(fig) >= READABLE

"""The Transformer chapter's drawings take what was computed and return a figure that fits a page."""

import numpy as np
import pytest

from lnbook.figures import plots
from lnbook.pages.beyond_transformers import drawings
from lnbook.pages.beyond_transformers.placements import JOBS, Stacks

RUNS = np.array([[1.0, 2.0], [2.0, 4.0]])


def test_the_norm_is_the_filled_box_and_stands_in_three_places() -> None:
    fig = drawings.placements()
    places = {}
    for ax in fig.axes:
        (norm,) = (t for t in ax.texts if t.get_text() == "LN")
        plus = next(t for t in ax.texts if t.get_text() == "+")
        places[ax.get_title()] = (norm.get_position()[1], plus.get_position()[1])
        assert norm.get_bbox_patch().get_facecolor()[:3] != (0.0, 0.0, 0.0)
    assert places == {"inside (2016)": (2, 5), "after (2017)": (5, 4), "before": (1, 5)}
    assert plots._svg(fig, "placements")


@pytest.fixture
def found() -> Stacks:
    both = {"post": RUNS, "pre": RUNS / 2}
    return Stacks((1, 4), 8, both | {"none": RUNS[:, :1]}, 2, both, both)


def test_stacks_draw_marks_over_limits_and_shorten_what_explodes(found: Stacks) -> None:
    fig = drawings.stacks(found)
    left, right = fig.axes
    assert [t.get_text() for t in left.get_xticklabels()] == ["1", "4"]
    limit = next(line for line in right.lines if line.get_linestyle() == "-")
    assert limit.get_ydata().tolist() == found.limits()["blocks"]["pre"]
    assert [t.get_text() for t in fig.legends[0].texts] == ["after (2017)", "before", "no norm"]
    assert plots._svg(fig, "stacks")


def test_gradients_in_a_text_stand_beside_effects_of_a_step(found: Stacks) -> None:
    fig = drawings.in_text((1, 8), {"pre": RUNS}, found)
    left, right = fig.axes
    assert left.get_yscale() == "log"
    assert [t.get_text() for t in left.get_xticklabels()] == ["1", "8"]
    assert [t.get_text() for t in right.get_xticklabels()] == ["1", "4"]
    assert plots._svg(fig, "in-text")


def test_curves_have_a_panel_a_placement_and_yardsticks_in_each() -> None:
    run = [{"update": u, "bits": b} for u, b in ((0, 9.0), (10, 5.0), (20, 4.0))]
    jobs = [job for panel in JOBS.values() for job in panel.values()]
    fig = drawings.curves({job: [run, run] for job in jobs}, {"counted": 1.7})
    for ax, panel in zip(fig.axes, JOBS.values(), strict=True):
        assert [t.get_text() for t in ax.get_legend().texts] == list(panel)
        assert ax.texts[0].get_text() == "counted"
        assert ax.lines[0].get_ydata().tolist() == [5.0, 4.0]  # not the one before training
        assert ax.lines[-1].get_ydata()[0] == pytest.approx(1.7)
    assert plots._svg(fig, "curves")


def test_rows_say_panel_name_place_and_interval() -> None:
    rows = drawings.rows(last={"post": RUNS})
    assert [row["place"] for row in rows] == [0, 1]
    assert (rows[1]["panel"], rows[1]["name"], rows[1]["mean"]) == ("last", "post", 3.0)
    assert rows[1]["low"] < 3.0 < rows[1]["high"]

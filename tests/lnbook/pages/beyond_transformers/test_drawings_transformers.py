"""The Transformer chapter's drawings take what was computed and return a figure that fits a page."""

import numpy as np
import pytest

from lnbook.figures import plots
from lnbook.pages.beyond_transformers import drawings
from lnbook.pages.beyond_transformers.placements import JOBS, Readers, Stacks

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


@pytest.fixture
def read() -> Readers:
    every = {p: {1: RUNS[:, :1], 2: RUNS} for p in ("post", "pre")}
    return Readers((1, 2), every, 2, {"post": RUNS, "pre": RUNS})


def test_gradients_of_stacks_stand_beside_those_of_transformers(found: Stacks, read: Readers) -> None:
    fig = drawings.gradients(found, read)
    last, last_read, every, every_read = fig.axes
    assert [t.get_text() for t in last.get_xticklabels()] == ["1", "4"]
    assert [t.get_text() for t in last_read.get_xticklabels()] == ["1", "2"]
    limit = next(line for line in every.lines if line.get_linestyle() == "-")
    assert limit.get_ydata().tolist() == found.limits()["blocks"]["pre"]
    means = next(line for line in every_read.lines if line.get_linestyle() == "-")
    assert means.get_ydata().tolist() == RUNS.mean(0).tolist()
    assert [t.get_text() for t in fig.legends[0].texts] == ["after (2017)", "before", "no norm"]
    assert plots._svg(fig, "gradients")


def test_curves_have_a_panel_a_placement_and_yardsticks_in_each() -> None:
    run = [{"update": u, "bits": b} for u, b in ((0, 9.0), (10, 5.0), (20, 4.0))]
    jobs = [job for panel in JOBS.values() for job in panel.values()]
    fig = drawings.curves({job: [run, run] for job in jobs}, {"counted": 1.7})
    for ax, panel in zip(fig.axes, JOBS.values(), strict=True):
        assert ax.get_legend_handles_labels()[1] == list(panel)
        assert ax.texts[0].get_text() == "counted"
        assert ax.lines[0].get_ydata().tolist() == [5.0, 4.0]  # not the one before training
        assert ax.lines[-1].get_ydata()[0] == pytest.approx(1.7)
    assert {t.get_text() for t in fig.legends[0].texts} == {name for panel in JOBS.values() for name in panel}
    assert plots._svg(fig, "curves")


def test_rows_say_panel_name_place_and_interval() -> None:
    rows = drawings.rows(last={"post": RUNS})
    assert [row["place"] for row in rows] == [0, 1]
    assert (rows[1]["panel"], rows[1]["name"], rows[1]["mean"]) == ("last", "post", 3.0)
    assert rows[1]["low"] < 3.0 < rows[1]["high"]

"""Every figure reaches a page with a name and its data, or not at all."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from lnbook.figures import plots


@pytest.fixture(autouse=True)
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What is displayed instead of in a notebook; results go to `tmp_path`, matplotlib stays as it was."""
    displayed: list[tuple[dict[str, str], dict[str, Any]]] = []
    monkeypatch.setattr(
        "IPython.display.display", lambda bundle, raw, metadata: displayed.append((bundle, metadata))
    )
    monkeypatch.setenv("LNLIB_RESULTS", str(tmp_path))
    with mpl.rc_context():
        yield displayed


def line(word: str = "", *, size: float = 11, at: float = 0.5, values: Any = (1.0, 2.0)) -> Figure:
    fig, ax = plots.subplots()
    ax.plot(values, label="layer")
    ax.legend()
    fig.text(at, 0.5, word, fontsize=size)
    return fig


@pytest.mark.parametrize(
    "columns",
    [
        {"x": [1, 2], "y": [0.1, 0.2]},
        {"x": torch.tensor([1, 2]), "y": torch.tensor([0.1, 0.2], dtype=torch.float64)},
        [{"x": 1, "y": 0.1}, {"x": 2, "y": 0.2}],
    ],
)
def test_a_figure_is_shown_once_by_its_name_and_the_csv_holds_what_was_drawn(
    shown, tmp_path: Path, columns
) -> None:
    plots.figure(line("a word", size=7.7), "a-1", columns)  # as small as may be
    ((bundle, metadata),) = shown
    assert bundle["image/svg+xml"].lstrip().startswith("<?xml")
    assert metadata == {"scrapbook": {"name": "a-1", "mime_prefix": ""}}
    assert (tmp_path / "figures" / "a-1.csv").read_text().split() == ["x,y", "1,0.1", "2,0.2"]


def heavy() -> Figure:
    fig, ax = plots.subplots()
    ax.scatter(*np.random.default_rng(0).normal(size=(2, 8000)))
    return fig


@pytest.mark.parametrize(
    ("fig", "name", "data", "complaint"),
    [
        (line, "two words", {"x": [1]}, "lower-case words joined by hyphens"),
        (line, "a-1", {"x": [1, 2], "y": [1]}, "shorter"),
        (line, "a-1", [], "no data"),
        (heavy, "a-1", {"x": [1]}, "'a-1' .*over 400,000; draw its heavy artists with rasterized=True"),
        (
            partial(line, "w", size=7),
            "a-1",
            [{"x": 1}],
            r"'a-1' .*under 8 px .*, \['w'\]; give them 7.7 points",
        ),
        (
            partial(line, "w", at=0.999),
            "a-1",
            [{"x": 1}],
            r"'a-1' is cut off at its edge by 0\.\d+ inches; move",
        ),
    ],
)
def test_a_figure_that_lacks_something_or_suits_no_page_is_neither_shown_nor_stored(
    shown, tmp_path: Path, fig: Callable[[], Figure], name: str, data, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        plots.figure(fig(), name, data)
    assert shown == []
    assert not list(tmp_path.rglob("*.csv"))


def test_the_same_figure_is_the_same_bytes_and_another_figure_is_not(shown) -> None:
    for name, values in (("a-1", (1.0, 2.0)), ("a-1", (1.0, 2.0)), ("a-1", (2.0, 1.0)), ("a-2", (1.0, 2.0))):
        plots.figure(line(values=values), name, {"x": [1]})
    first, again, other_values, other_name = (bundle["image/svg+xml"] for bundle, _ in shown)
    assert first == again
    assert first != other_values
    assert first != other_name  # ids of two figures on one page must not meet

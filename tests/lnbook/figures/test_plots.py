"""Every figure reaches a page with a name and its data, or not at all."""

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


def line(values: Any = (1.0, 2.0)) -> Figure:
    fig, ax = plots.subplots()
    ax.plot(values, label="layer")
    ax.legend()
    return fig


def test_a_figure_is_shown_once_with_what_a_reader_needs(shown) -> None:
    plots.figure(line(), "a-1", {"x": [1.0, 2.0]})
    ((bundle, metadata),) = shown
    assert bundle["image/svg+xml"].lstrip().startswith("<?xml")
    assert metadata == {"scrapbook": {"name": "a-1", "mime_prefix": ""}}


@pytest.mark.parametrize(
    "columns",
    [
        {"x": [1, 2], "y": [0.1, 0.2]},
        {"x": torch.tensor([1, 2]), "y": torch.tensor([0.1, 0.2], dtype=torch.float64)},
        [{"x": 1, "y": 0.1}, {"x": 2, "y": 0.2}],
    ],
)
def test_the_csv_holds_what_was_drawn(tmp_path: Path, columns) -> None:
    plots.figure(line(), "a-1", columns)
    assert (tmp_path / "figures" / "a-1.csv").read_text().split() == ["x,y", "1,0.1", "2,0.2"]


@pytest.mark.parametrize(
    ("name", "data", "complaint"),
    [
        ("two words", {"x": [1]}, "lower-case words joined by hyphens"),
        ("a-1", {"x": [1, 2], "y": [1]}, "shorter"),
        ("a-1", [], "no data"),
    ],
)
def test_a_figure_that_lacks_something_is_neither_shown_nor_stored(
    shown, tmp_path: Path, name: str, data, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        plots.figure(line(), name, data)
    assert shown == []
    assert not list(tmp_path.rglob("*.csv"))


def test_a_drawing_too_large_for_a_page_is_refused(shown) -> None:
    fig, ax = plots.subplots()
    ax.scatter(*np.random.default_rng(0).normal(size=(2, 8000)))
    with pytest.raises(ValueError, match="over 400,000; draw its heavy artists with rasterized=True"):
        plots.figure(fig, "a-1", {"x": [1]})
    assert shown == []


@pytest.mark.parametrize(
    ("where", "size", "complaint"),
    [
        ((0.5, 0.5), 7, r"letters under 8 px on a phone, \['a word'\]; give them 7.7 points"),
        ((0.97, 0.5), 11, r"cut off at its edge by 0\.\d+ inches; move"),
        ((0.5, 0.5), 7.7, None),
    ],
)
def test_letters_too_small_for_a_phone_and_parts_beyond_the_edge_are_refused(
    shown, tmp_path: Path, where: tuple[float, float], size: float, complaint: str | None
) -> None:
    fig = line()
    fig.text(*where, "a word", fontsize=size)
    if complaint is None:
        plots.figure(fig, "a-1", {"x": [1]})
        assert len(shown) == 1
        return
    with pytest.raises(ValueError, match=f"figure 'a-1' .*{complaint}"):
        plots.figure(fig, "a-1", {"x": [1]})
    assert shown == []
    assert not list(tmp_path.rglob("*.csv"))


def test_the_same_figure_is_the_same_bytes_and_another_figure_is_not(shown) -> None:
    for name, values in (("a-1", (1.0, 2.0)), ("a-1", (1.0, 2.0)), ("a-1", (2.0, 1.0)), ("a-2", (1.0, 2.0))):
        plots.figure(line(values), name, {"x": [1]})
    first, again, other_values, other_name = (bundle["image/svg+xml"] for bundle, _ in shown)
    assert first == again
    assert first != other_values
    assert first != other_name  # ids of two figures on one page must not meet

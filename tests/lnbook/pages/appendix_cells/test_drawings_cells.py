"""The drawings of the supplement's cells take what was computed and return a figure that fits a page."""

import numpy as np

from lnbook.figures import plots
from lnbook.pages.appendix_cells import drawings
from lnlib.rnn.variants import PLAIN, VARIANTS, Variant


def test_every_variant_of_an_lstm_has_its_places() -> None:
    found = {name: drawings.places(variant) for name, variant in VARIANTS["LSTM"].items()}
    assert drawings.places(PLAIN) == set()
    assert found["paper"] == found["released"] == {1, 2, 3}
    assert found["joint"] == found["per_gate"] == {3, 4}
    assert found["draw"] == {3}
    assert found["normalized_state"] == {1, 2, 3, 5}
    assert found["rnmt"] == {4, 5}
    assert set.union(*found.values()) <= set(drawings.PLACES)


def test_the_cell_has_a_row_a_variant_with_a_dot_a_place_and_four_where_gates_are_apart() -> None:
    shown = {"plain": PLAIN, "paper": VARIANTS["LSTM"]["paper"], "apart": Variant("joint", per_gate=True)}
    fig = drawings.cell(shown)
    _, table = fig.axes
    dots = [line for line in table.lines if line.get_marker() == "o"]
    places = sorted((round(np.mean(d.get_ydata())), round(np.mean(d.get_xdata()))) for d in dots)
    assert places == [(1, 1), (1, 2), (1, 3), (2, 4)]
    assert max(len(d.get_xdata()) for d in dots) == 4
    names = {text.get_text() for text in table.texts}
    assert names == set(shown)
    assert plots._svg(fig, "cell")


def test_the_circuit_shows_all_five_places() -> None:
    circuit, _ = drawings.cell({"plain": PLAIN}).axes
    written = {text.get_text() for text in circuit.texts}
    assert {f"LN {place}" for place in drawings.PLACES} <= written


def test_the_dead_start_averages_the_seeds_and_names_its_lines() -> None:
    losses = {
        name: np.full((2, 30), k) + np.array([[0.0], [1.0]]) for k, name in ((1, "a"), (2, "b"), (3, "c"))
    }
    moved = {"one": np.linspace(0, 2, 30), "all others": np.zeros(30)}
    fig = drawings.dead_start(losses, moved)
    left, right = fig.axes
    np.testing.assert_allclose([line.get_ydata()[0] for line in left.lines], [1.5, 2.5, 3.5])
    assert [text.get_text() for text in right.get_legend().get_texts()] == list(moved)
    assert not right.lines[1].get_ydata().any()
    assert plots._svg(fig, "start")


def test_blank_steps_have_a_named_line_a_network_and_the_largest_float() -> None:
    grown = {"one": [1, 1e5], "two": [1, 1e3], "three": [1, 1e2], "none": [1, 0.5]}
    fig = drawings.blank_steps([0, 1], grown, 3.4e38)
    (ax,) = fig.axes
    assert [text.get_text() for text in ax.texts] == [*grown, "the largest float32"]
    assert ax.lines[3].get_color() == plots.COLORS["none"]
    assert plots._svg(fig, "blank")

"""Reading rows: twins are compared seed by seed, whatever the order in which runs ended."""

from pathlib import Path

import numpy as np
import pytest

from lnbook.ledger.intervals import interval
from lnbook.ledger.pairs import write_pair
from lnbook.ledger.rows import as_csv
from lnbook.pages.sec6_7_convnets.reading import Runs


def row(
    norm: str, seed: int, update: int, loss: float | None, on: float = 0.5, rate: float = 1e-3
) -> dict[str, object]:
    kind = {"norm": norm, "padding": "zeros", "pictures": "centered", "rate": rate, "seed": seed}
    layers = {"dead_1": 0, "dead_2": 0, "on_border_1": on, "on_center_1": 0.5, "on_border_2": 0.3}
    return {**kind, "update": update, "train_loss": loss, **layers, "on_center_2": 0.6}


ROWS = [
    row(norm, seed, update, None if update == 0 else scale * (seed + 1) / update, on=0.25 * (seed + 1))
    for seed in (1, 0)
    for norm, scale in (("layer", 3.0), ("batch", 2.0))
    for update in (0, 10, 20)
]


def test_a_table_has_a_line_a_seed_and_a_column_a_time() -> None:
    table = Runs(ROWS).table("train_loss", "batch")
    assert table.shape == (2, 3)
    assert np.isnan(table[:, 0]).all()
    assert table[:, 1:].tolist() == [[0.2, 0.1], [0.4, 0.2]]


def test_an_excess_is_in_percent_and_by_seed() -> None:
    assert Runs(ROWS).excess("layer", "batch") == pytest.approx([50, 50])


def test_a_speed_up_counts_updates_to_the_slower_ones_last_loss() -> None:
    # losses are means over the updates between two rows, and count for the middle: 5 and 15
    found = Runs(ROWS).speed_ups("layer", "batch")
    # layer norm's: 0.3, 0.15; batch norm's: 0.2, 0.1, which is at 0.15 halfway between 5 and 15
    assert found == pytest.approx([15 / 10, 15 / 10])
    assert Runs(ROWS).speed_ups("batch", "layer").tolist() == [0, 0]  # layer norm never gets there


def test_a_curve_leaves_out_what_was_before_training() -> None:
    curve = Runs(ROWS).curve("train_loss", "batch")
    assert curve["update"] == [10, 20]
    assert (curve["mean"][1], curve["low"][1], curve["high"][1]) == pytest.approx(interval([0.1, 0.2]))


def test_a_curve_on_test_cases_keeps_to_the_cases_it_began_with() -> None:
    rows = [
        row("layer", seed, update, 1.0) | {"test_cases": cases, "test_error": error}
        for seed in (0, 1)
        for update, cases, error in ((0, 10, 0.9), (5, 10, 0.5), (10, 100, 0.6))
    ]
    curve = Runs(rows).curve("test_error", "layer")
    assert (curve["update"], curve["mean"]) == ([5], (0.5,))
    assert Runs(rows).curve("train_loss", "layer")["update"] == [5, 10]


def test_the_border_is_compared_with_the_center_and_layers_are_averaged() -> None:
    runs = Runs(ROWS)
    assert runs.layers == range(1, 3)
    assert runs.at_border("batch", 1, -1).tolist() == [0.5, 1.0]
    assert runs.over_layers("on_border", "batch") == pytest.approx([(0.25 + 0.3) / 2, (0.5 + 0.3) / 2])
    assert runs.updates == 20


def test_runs_that_are_not_there_are_named() -> None:
    with pytest.raises(ValueError, match=r"'norm': 'rms'.*the norms are \['batch', 'layer'\]"):
        Runs(ROWS).table("train_loss", "rms")


def test_a_network_takes_the_step_size_that_is_best_on_the_other_seeds() -> None:
    lowest = {1e-3: {0: 0.1, 1: 3.0, 2: 3.0}, 1e-2: {0: 9.0, 1: 1.0, 2: 1.0}}  # seed 0 itself is the odd one
    rows = [
        row("layer", seed, update, loss * rate, rate=rate) | {"test_nll": loss if update else 10.0}
        for rate, losses in lowest.items()
        for seed, loss in losses.items()
        for update in (0, 10)
    ]
    runs = Runs(rows)
    assert runs.own_steps("layer") == {0: 1e-2, 1: 1e-3, 2: 1e-3}
    assert runs.table("train_loss", "layer", rate=None)[:, -1] == pytest.approx([9.0e-2, 3.0e-3, 3.0e-3])
    assert runs.table("train_loss", "layer", rate=1e-2)[:, -1] == pytest.approx([9.0e-2, 1e-2, 1e-2])


def test_a_run_that_diverged_is_no_choice_however_low_it_was_before() -> None:
    rows = [
        row("layer", seed, update, 1.0, rate=rate) | {"test_nll": nll}
        for rate, nlls in {1e-3: (2.0, 1.0), 1e-2: (0.1, float("nan"))}.items()
        for seed in (0, 1)
        for update, nll in enumerate(nlls)
    ]
    assert set(Runs(rows).own_steps("layer").values()) == {1e-3}


def test_the_recorded_runs_are_those_on_one_set_of_pictures_and_of_one_length(tmp_path: Path) -> None:
    kinds = (("a", 2), ("b", 2), ("a", 10))
    rows = [
        {**row("layer", 0, passes * u, 1.0), "data": name, "epochs": passes}
        for name, passes in kinds
        for u in (0, 10, 20)
    ]
    (tmp_path / "study").mkdir()
    write_pair(tmp_path / "study" / "convnet.csv", as_csv(rows), {})
    assert Runs.recorded("a", folder=tmp_path).updates == 40
    assert Runs.recorded("a", 10, tmp_path).updates == 200
    assert len(Runs.recorded("b", folder=tmp_path).rows) == 3

"""Measurements of the exact Fisher matrix, against dense algebra on small models."""

import numpy as np
import pytest
import torch

from lnbook.pages.beyond_exact_fisher import measure, symmetry
from lnlib.fisher import fisher, printed_eq13
from lnlib.norms.normalize import layer_norm, rms_norm


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def draw(generator: torch.Generator, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def test_layer_norm_loses_two_directions_and_rms_norm_one(generator) -> None:
    widths = (2, 5, 9)
    # 1e-12: autograd and a singular value decomposition of matrices of size 9 and entries around 1.
    assert measure.off_projection(layer_norm, 2, widths, generator) < 1e-12
    assert measure.off_projection(rms_norm, 1, widths, generator) < 1e-12
    assert measure.off_projection(layer_norm, 1, widths, generator) > 0.5
    assert measure.off_projection(rms_norm, 2, widths, generator) > 0.5


def test_traces_are_those_of_the_blocks_of_the_weights(generator) -> None:
    glm, X = measure.random_model("gaussian", "layer", 4, 3, generator), draw(generator, 30, 3)
    weights = torch.tensor(([True] * 3 + [False] * 2) * 4)
    found = measure.weight_traces(glm, X)
    dense = [float(matrix(glm, X).diagonal()[weights].sum()) for matrix in (fisher, printed_eq13)]
    assert found == pytest.approx(dense, rel=1e-12)  # sums of 30 cases, in another order
    assert found[1] < found[0]


def test_a_scaled_matrix_has_ones_on_its_diagonal_and_batch_norm_nothing_across(generator) -> None:
    X = draw(generator, 60, 3)
    for norm, small in (("batch", True), ("layer", False)):
        F, across = measure.scaled(measure.random_model("gaussian", norm, 4, 3, generator), X)
        torch.testing.assert_close(F.diagonal(), torch.ones(20, dtype=torch.float64))
        assert (across < 1e-12) == small  # an expectation that is 0, summed over 60 cases


def test_costs_measure_the_matrix_up_to_a_size_and_a_product_beyond(generator) -> None:
    rows = measure.costs((3, 5), dense_up_to=3, cases=10, generator=generator)
    assert [(row["way"], row["P"]) for row in rows] == [("product", 15), ("matrix", 15), ("product", 35)]
    assert all(row["seconds"] > 0 for row in rows)
    assert rows[1]["bytes"] == 8 * 15**2


def test_counts_cover_every_size_rank_norm_and_family(generator) -> None:
    rows = list(measure.counts((2, 4), (1, 2), ("gaussian", "poisson"), generator))
    assert len(rows) == 2 * (1 + 2) * 3 * 2
    assert all(("printed" in row) == (row["norm"] == "layer") for row in rows)
    square = [r for r in rows if (r["H"], r["D"], r["r"], r["norm"]) == (4, 2, 2, "layer")]
    assert [r["nullity"] for r in square] == [3, 3]
    assert [r["printed"] for r in square] == [0, 0]


def test_slides_report_no_change_at_the_start_and_the_change_of_a_scale(generator) -> None:
    glm, X = measure.random_model("gaussian", "layer", 7, 2, generator), draw(generator, 20, 2)
    path = symmetry.slide(glm.W, torch.eye(7, dtype=torch.float64)[0], length=0.4)
    moved, changed = measure.slides(glm, X, path).T
    assert max(moved[0], changed[0]) < 1e-15  # rounding of W's mean row
    assert moved[-1] > 0.01
    assert changed.max() < 1e-12  # Newton's method stops at 64 roundings of the squared weights
    doubled = measure.slides(glm, X, torch.full((1, 7), 2.0, dtype=torch.float64))  # gains halve, outputs not
    assert doubled[0, 1] > 0.1


@pytest.mark.parametrize("norm", ["layer", "batch", "weight"])
def test_undamped_steps_do_not_see_the_parameterization_and_others_do(generator, norm) -> None:
    glm, X = measure.random_model("bernoulli", norm, 5, 3, generator), draw(generator, 80, 3)
    y = torch.bernoulli(torch.rand(80, 5, generator=generator, dtype=torch.float64), generator=generator)
    rows = 10 ** draw(generator, 5, 1).clamp(-1, 1)
    W = 5 * glm.W + draw(generator, 3) if norm == "layer" else rows * glm.W
    # 1e-9: rounding, times the condition number of F beyond its null space, 1e4 to 1e6.
    assert measure.apart(glm, W, X, y, 0) < 1e-9
    assert measure.apart(glm, W, X, y, None) > 0.1
    assert measure.apart(glm, W, X, y, 0.1) > 0.01
    assert measure.apart(glm, glm.W, X, y, 0.1) == 0


def test_a_step_goes_downhill_and_strong_damping_makes_it_short(generator) -> None:
    glm, X = measure.random_model("bernoulli", "layer", 5, 3, generator), draw(generator, 80, 3)
    y = glm.sample(X, generator)
    z = glm.natural(X)
    change = [float((measure.outputs_after(glm, X, y, d) - z).norm()) for d in (0, 1.0, 1e6)]
    assert change[0] > change[1] > 1e4 * change[2]

    def loss(z: torch.Tensor) -> float:
        return float((torch.nn.functional.softplus(z) - y * z).mean())

    assert loss(measure.outputs_after(glm, X, y, 0.1)) < loss(z)
    assert np.isfinite(change).all()

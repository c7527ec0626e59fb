"""Table 1 of the paper, computed and proved; what breaks its cells; and its neighbors."""

import math

import pytest
import torch
from glms import draw
from hypothesis import given, settings
from hypothesis import strategies as st

from lnlib import batch_norm, invariance, layer_norm, weight_norm
from lnlib.invariance import (
    BEYOND,
    CLEAR,
    COLUMNS,
    EPS_DEFAULTS,
    METHODS,
    PAPER,
    affine_weights,
    measure,
    normalized,
    scale_cases,
    scale_rows,
    shift_cases,
    table1,
)

RESCALING = {column for column in COLUMNS if column.endswith("re-scaling")}


@settings(max_examples=10)
@given(
    st.integers(0, 10_000),
    st.sampled_from([1e-3, 0.5, 1.1, 2.7, 1e3]),
    st.sampled_from([(3, 2, 4), (8, 5, 7), (20, 30, 10)]),
    st.sampled_from([torch.float64, torch.float32]),
)
def test_all_eighteen_cells_agree_with_the_paper(seed, delta, sizes, dtype):
    units, inputs, cases = sizes
    rows = table1(delta=delta, dtype=dtype, units=units, inputs=inputs, cases=cases, seed=seed)
    assert len(rows) == 18
    assert {row[:2] for row in rows} == set(PAPER)
    assert [row.invariant for row in rows] == [row.paper for row in rows]
    for row in rows:  # what holds stays within rounding, which is small; what does not, fails by a margin
        if row.paper:
            assert row.max_relative_change <= row.tolerance <= CLEAR / 10
        else:
            assert row.max_relative_change > max(CLEAR, 10 * row.tolerance)


def test_the_tolerance_is_not_a_hundred_thousand_times_too_wide():
    rows = [row for row in table1(METHODS, transformations=COLUMNS + BEYOND) if row.invariant]
    # Between the rounding that happens and the bound on it: a factor of some hundreds.
    assert max(row.max_relative_change / row.tolerance for row in rows) > 1e-5
    assert max(row.tolerance for row in rows) < 1e-10


@pytest.mark.parametrize("norm", ["batch", "weight", "layer"])
def test_the_rows_use_the_normalizations_of_the_library(norm):
    W, X = draw(6, 4), draw(5, 4, seed=1)
    a = X @ W.T
    theirs = {
        "batch": batch_norm(a, eps=0.1),
        "weight": X @ weight_norm(W).T,
        "layer": layer_norm(a, eps=0.1),
    }
    # The same sums of at most 6 numbers near 1, perhaps in another order.
    torch.testing.assert_close(normalized(norm, W, X, eps=0.1), theirs[norm], rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    ("norm", "units", "shape"),
    [("layer", 1, (5, 4)), ("batch", 3, (1, 4)), ("group", 2, (5, 4)), ("instance", 3, (5, 1, 4))],
)
def test_a_layer_that_normalizes_to_zero_is_refused(norm, units, shape):
    with pytest.raises(ValueError, match=rf"{norm} norm makes every summed input .* at least 2"):
        measure(norm, affine_weights(2.0), draw(units, 4), draw(*shape, seed=1))


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: table1(delta=0), "delta = 0 would erase .* 2.7"),
        (lambda: table1(delta=1), "delta = 1 would change nothing"),
        (lambda: table1(norms=["bath"]), "no normalization is called 'bath'; choose one of"),
        (lambda: table1(transformations=["weight"]), "no transformation is called {'weight'}"),
        (lambda: invariance.prove("layer", "orthogonal mixing of the units"), "no cell .* choose a row"),
        # one number a case does not stretch the data
        (lambda: scale_cases(torch.ones(3)).data(torch.ones(1, 2)), "3 numbers for 1 cases; give one a case"),
        (lambda: shift_cases(torch.ones(3)).data(torch.ones(1, 2)), "3 numbers for 1 cases; give one a case"),
    ],
)
def test_wrong_arguments_are_named_with_their_fix(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_half_precision_and_nan_in_the_data_give_no_verdict_but_an_error():
    with pytest.raises(ArithmeticError, match=r"use torch.float64"):
        table1(dtype=torch.bfloat16)
    X = draw(4, 3)
    X[1, 2] = math.nan
    with pytest.raises(ArithmeticError, match="change nan"):
        measure("layer", affine_weights(2.0), draw(5, 3), X)


@settings(max_examples=10)
@given(st.floats(-1e3, -1e-3), st.integers(0, 100))
def test_a_negative_scale_flips_every_sign_and_nothing_else(delta, seed):
    rows = table1(delta=delta, seed=seed)
    for row in rows:
        if row.paper:
            assert row.equivariant, row
            assert row.max_relative_error <= row.tolerance
            assert row.invariant == (row.transformation not in RESCALING)
    W, X = draw(6, 4, seed=seed), draw(5, 4, seed=seed + 1)
    flipped = normalized("layer", W, X, by=affine_weights(-2.0))
    # A power of two scales without rounding: the flip is exact to the last bit.
    assert torch.equal(flipped, -normalized("layer", W, X))


@pytest.mark.parametrize(
    ("condition", "norms", "spared"),
    [
        ({"frozen": True}, ["batch"], set()),
        ({"input_bias": 1.0}, ["layer", "weight"], {*COLUMNS} - RESCALING),
        ({"eps": 1e-5}, ["layer", "batch"], {*COLUMNS} - RESCALING),
    ],
)
def test_a_condition_that_the_paper_leaves_out_breaks_these_cells_and_no_other(condition, norms, spared):
    broken = {row[:2] for row in table1(**condition) if row.paper and not row.invariant}
    at_risk = {cell for cell, holds in PAPER.items() if holds and cell[0] in norms}
    assert broken == {cell for cell in at_risk if cell[1] not in spared}


def test_eps_breaks_little_where_it_is_small():
    for eps, verdict in ((1e-5, "nearly"), (10.0, "no")):
        changed = {row.verdict for row in table1(eps=eps) if row.paper and not row.invariant}
        assert changed == {verdict}


@given(
    st.floats(1e-12, 1e2),
    st.floats(1e-2, 1e2),
    st.booleans(),
    st.sampled_from(["batch", "layer", "rms", "group", "instance"]),
)
def test_the_factor_of_eps_is_exact(eps, delta, negative, norm):
    delta = -delta if negative else delta
    W, X = draw(6, 4), draw(5, *((3,) if norm in ("group", "instance") else ()), 4, seed=1)
    a = invariance.summed_inputs(norm, W, X)
    power = invariance.methods.scales(norm, a, W).square()
    before, after = normalized(norm, W, X, eps=eps), normalized(norm, W, X, eps=eps, by=affine_weights(delta))
    # A few dozen roundings of 1e-16, amplified at most tenfold by the statistics of this layer.
    factor = invariance.eps_factor(power, eps, delta).expand_as(a)
    torch.testing.assert_close(after / before, factor, rtol=1e-12, atol=0)


def test_the_defaults_of_twelve_programs_or_more_are_known():
    assert len({default.program for default in EPS_DEFAULTS}) == len(EPS_DEFAULTS) >= 12
    assert {default.eps for default in EPS_DEFAULTS} == {1e-3, 1e-5, 1e-6, 1e-12}
    ours = torch.nn.LayerNorm(1).eps
    assert next(d.eps for d in EPS_DEFAULTS if d.program == "PyTorch") == ours


EXPECTED = {
    # - no, + invariant, ~ equivariant: columns of Table 1, then BEYOND
    "none": "------" + "----~~~",
    "batch": "+-+++-" + "~---~--",
    "weight": "+-+---" + "~---~--",
    "layer": "++-+-+" + "~--+~-~",
    "rms": "+--+-+" + "~---~~~",
    "group": "++-+-+" + "~--+---",
    "instance": "+-++++" + "~-++~--",
    "input": "---+-+" + "-++-~~~",
}


@pytest.mark.parametrize("norm", METHODS)
def test_the_table_beyond_the_paper_measured_and_proved(norm):
    signs = {"no": "-", "invariant": "+", "equivariant": "~"}
    for seed in range(2):
        rows = table1((norm,), transformations=COLUMNS + BEYOND, seed=seed)
        assert "".join(signs[row.verdict] for row in rows) == EXPECTED[norm]
        assert all(row.max_relative_change > CLEAR for row in rows if not row.invariant)
    for row in rows[: len(COLUMNS) + 4]:
        assert invariance.prove(norm, row.transformation).holds == row.invariant
    if norm not in ("none", "input"):
        proof = invariance.prove(norm, "negative weight matrix re-scaling")
        assert not proof.holds
        assert "ratio -1" in proof.steps


def test_a_shift_adds_what_it_names():
    """Invariance cannot tell a shift from its opposite."""
    one, zeros = torch.tensor([2.0, 3.0]), torch.zeros(2, 2)
    rows, columns = torch.tensor([[2.0, 2.0], [3.0, 3.0]]), torch.tensor([[2.0, 3.0], [2.0, 3.0]])
    assert torch.equal(invariance.shift_rows(one).weights(zeros), rows)
    assert torch.equal(affine_weights(shift=one).weights(zeros), columns)
    assert torch.equal(invariance.affine_data(shift=one).data(zeros), columns)
    assert torch.equal(shift_cases(one).data(zeros), rows)
    assert torch.equal(invariance.shift_summed(one).summed(zeros), rows)


def test_a_change_is_relative_to_the_largest_output():
    found = measure("none", affine_weights(1.5), draw(6, 4), 7 * draw(5, 4, seed=1))
    assert found.max_relative_change == pytest.approx(0.5)


def test_groups_may_be_scaled_and_shifted_apart():
    W, X = draw(6, 4), draw(5, 4, seed=1)
    apart = scale_rows(torch.tensor([2.0, 2, 2, 5, 5, 5], dtype=torch.float64))
    assert measure("group", apart, W, X).invariant
    assert not measure("layer", apart, W, X).invariant


def test_every_cell_of_table_1_is_proved_or_disproved_as_printed():
    proofs = invariance.prove_table1()
    assert {cell: proof.holds for cell, proof in proofs.items()} == PAPER
    for proof in proofs.values():
        assert proof.generality == ("all H, D, N" if proof.holds else "one layer is enough")
        assert proof.steps


def test_a_counterexample_can_be_checked_by_hand():
    W = torch.tensor([[1.0, 0], [-3, -1], [-2, -1], [3, 0]], dtype=torch.float64)
    X = torch.tensor([[1.0, 2], [-1, -3], [-2, 2]], dtype=torch.float64)
    last = invariance.prove("layer", "weight vector re-scaling").steps[-1]
    assert last == (
        f"W = {W.int().tolist()}, x = {X.int().tolist()}: output 1 goes from sqrt(81/179) to sqrt(18/25)"
    )
    by = scale_rows(torch.tensor([2.0, 1, 1, 1], dtype=torch.float64))
    assert normalized("layer", W, X)[0, 0].item() == pytest.approx(math.sqrt(81 / 179), abs=1e-15)
    assert normalized("layer", W, X, by=by)[0, 0].item() == pytest.approx(math.sqrt(18 / 25), abs=1e-15)

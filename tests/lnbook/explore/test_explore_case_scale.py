"""Case scale: the figure's arithmetic against lnlib, and what a reader meets in a browser."""

from __future__ import annotations

import json
import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from explorable import evaluate, settled

from lnbook.explore.case_scale import case_scale
from lnlib.invariance import eps_factor
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import layer_norm

FIGURE = case_scale  # of the fixture `file`
METHODS = ("none", "batch", "layer")
GRIDS = [
    np.array(case_scale(seed=seed, cases=cases, units=units).state["a"])
    for seed, cases, units in ((0, 4, 4), (1, 3, 6), (2, 6, 3), (3, 5, 5))
]
EPSILONS = (0.0, 1e-8, 1e-5, 0.1)
DELTAS = (-3.0, -1.0, -0.05, 0.0, 0.05, 0.5, 1.0, 1.05, 3.0)
STATES = [
    (k, row, delta, eps)
    for (k, row), delta, eps in product(((0, 0), (1, 2), (2, 5), (3, 1)), DELTAS, EPSILONS)
]


def expected(a: np.ndarray, row: int, delta: float, eps: float) -> dict[str, np.ndarray]:
    """The outputs after the case is multiplied, by lnlib."""
    changed = torch.tensor(a)
    changed[row] *= delta
    outputs = {
        "none": changed,
        "batch": batch_norm(changed, eps=eps),
        "layer": layer_norm(changed, eps=eps),
    }
    return {name: out.numpy() for name, out in outputs.items()}


# ------------------------------------------------------------------------------------------- arithmetic


@pytest.fixture(scope="module")
def measured() -> list[tuple[int, int, float, float, dict[str, Any]]]:
    """Every state with what the script makes of it."""
    cases = [{"k": k, "state": {"row": row, "delta": delta, "eps": eps}} for k, row, delta, eps in STATES]
    given = [{"a": a.tolist()} for a in GRIDS]
    run = f"{json.dumps(cases)}.map(({{ k, state }}) => measure(given[k], state))"
    results = evaluate("case_scale", f"((given) => {run})({json.dumps(given)})")
    return [(*state, result) for state, result in zip(STATES, results, strict=True)]


def test_the_script_normalizes_as_lnlib_does(measured):
    for k, row, delta, eps, result in measured:
        for when, scale in (("before", 1.0), ("after", delta)):
            want = expected(GRIDS[k], row, scale, eps)
            for method in METHODS:
                np.testing.assert_allclose(
                    result[when][method], want[method], atol=1e-13, err_msg=f"{k}, {delta}, {eps}, {method}"
                )


def test_the_factor_is_lnlibs_and_is_what_layer_norm_does_to_the_case(measured):
    for k, row, delta, eps, result in measured:
        power = GRIDS[k][row].var()
        assert result["power"] == pytest.approx(power, rel=1e-12)
        if delta:
            factor = float(eps_factor(torch.tensor(power, dtype=torch.float64), eps, delta))
            assert result["factor"] == pytest.approx(factor, rel=1e-12)
        before, after = (np.array(result[when]["layer"]) for when in ("before", "after"))
        np.testing.assert_allclose(after[row], result["factor"] * before[row], atol=1e-12)
        np.testing.assert_array_equal(np.delete(after, row, 0), np.delete(before, row, 0))


def test_what_counts_as_a_move_is_told_from_rounding(measured):
    for k, row, delta, eps, result in measured:
        cases, units = GRIDS[k].shape
        moved = delta != 1
        own = np.arange(cases) == row
        layer = moved and (delta <= 0 or eps > 0)
        assert [bool(by) for by in result["moves"]["layer"]] == list(own & layer)
        assert [bool(by) for by in result["moves"]["none"]] == list(own & moved)
        assert [bool(by) for by in result["moves"]["batch"]] == [moved] * cases  # all of them
        assert result["counts"]["layer"] <= units * layer
        assert result["counts"]["batch"] <= cases * units * moved
        for method in METHODS:
            by = np.abs(np.array(result["after"][method]) - np.array(result["before"][method])).max(1)
            np.testing.assert_allclose(result["moves"][method], by, atol=1e-12)


def test_a_case_of_equal_units_and_a_scale_of_0_are_no_division_by_zero():
    grid = {"a": [[1, 1, 1], [1, 2, 4], [0, 0, 0]]}
    for row, delta, eps in product(range(3), (0, 2, -1), (0, 0.1)):
        state = {"row": row, "delta": delta, "eps": eps}
        result = evaluate("case_scale", f"measure({json.dumps(grid)}, {json.dumps(state)})")
        assert not {None, math.nan} & {result["factor"], *np.ravel(result["after"]["layer"]).tolist()}
        assert result["moves"]["layer"][2 if row == 0 else 0] == 0


@pytest.mark.parametrize(
    ("delta", "eps", "headline", "remark"),
    [
        (2.0, 0.0, "Layer norm does not notice.", "both cancel"),
        (-2.0, 0.0, "Layer norm turns the sign of this case, and does nothing else.", "up to the sign"),
        (2.0, 1e-8, "Layer norm hardly notices.", "√((s² + ε) / (s² + ε/δ²)) = 1.0000000"),
        (0.05, 0.1, "Layer norm notices, because ε is not small", "√((s² + ε) / (s² + ε/δ²)) = 0.1"),
        (-0.05, 0.1, "Layer norm notices, because ε is not small", "−√((s² + ε) / (s² + ε/δ²)) = −0.1"),
        (0.0, 0.0, "δ = 0 leaves nothing of the case", "0 / 0 is taken as 0"),
        (1.0, 0.1, "δ = 1: nothing is changed yet.", ""),
    ],
)
def test_the_words_fit_the_state(delta, eps, headline, remark):
    given, state = {"a": GRIDS[0].tolist()}, {"row": 0, "delta": delta, "eps": eps}
    call = "((given, state) => explain(state, measure(given, state)))"
    words = evaluate("case_scale", f"{call}({json.dumps(given)}, {json.dumps(state)})")
    assert words[0].startswith(headline)
    assert remark in words[2]
    if remark.startswith(("√", "−√")):
        shown = float(words[2].split("= ")[1].split(",")[0].replace("−", "-"))
        factor = float(eps_factor(torch.tensor(GRIDS[0][0].var()), eps, delta))
        assert shown == pytest.approx(factor, abs=0.006 * abs(abs(factor) - 1))  # three digits of the rest


# ------------------------------------------------------------------------------------------ the builder


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_the_data_is_kept_exactly_and_not_modified(dtype):
    a = torch.randn(3, 4, generator=torch.Generator().manual_seed(0), dtype=dtype, requires_grad=True)
    before = a.detach().clone()
    assert case_scale(a).state == {"a": before.double().tolist()}
    assert torch.equal(a, before)


def test_the_fallback_table_holds_what_lnlib_computes():
    a = GRIDS[0]
    moves = [
        np.abs(expected(a, 0, 3.0, 0.0)[method] - expected(a, 0, 1.0, 0.0)[method]).max(1)
        for method in METHODS
    ]
    cells = [f"{by[0]:.3f}; {by[1:].max():.3f}".replace("0.000", "0") for by in moves]
    row = "".join(f"<td>{cell}</td>" for cell in (*cells, "1.0000"))
    assert f"<tr><th>δ = 3, ε = 0</th>{row}</tr>" in case_scale().fallback


@pytest.mark.parametrize(
    ("a", "message"),
    [
        ([1.0, 2.0, 3.0], "needs a grid"),
        (np.ones((2, 4)), "3 to 6 cases can be shown, got 2; give more"),
        (np.ones((7, 4)), "3 to 6 cases can be shown, got 7; give fewer"),
        (np.ones((4, 2)), "3 to 6 units can be shown, got 2; give more"),
        (np.ones((4, 7)), "3 to 6 units can be shown, got 7; give fewer"),
        (np.full((3, 3), math.nan), r"a\[0, 0\] is nan; replace it"),
    ],
)
def test_a_grid_that_cannot_be_shown_is_refused_with_its_reason(a, message):
    with pytest.raises(ValueError, match=message):
        case_scale(a)


# ------------------------------------------------------------------------------------------- the browser


def check(page: Any, row: int, delta: float, eps: float = 0.0) -> None:
    """Every number that is printed below a bar, against lnlib; and which cases are said to move."""
    want, before = expected(GRIDS[0], row, delta, eps), expected(GRIDS[0], row, 1.0, eps)
    for method in METHODS:
        texts = page.locator(f".{method} .bars span").all_inner_texts()
        shown = [float(text.replace("−", "-")) for text in texts]
        np.testing.assert_allclose(shown, want[method].ravel(), atol=0.00501, err_msg=method)
        words = page.locator(f".{method} .case p span").all_inner_texts()
        moved = np.abs(want[method] - before[method]).max(1) > 1e-10
        assert [word != "same" for word in words] == list(moved), method


@pytest.mark.browser
def test_the_buttons_show_what_lnlib_computes_and_say_it_in_words(chromium, file):
    with chromium.open_page(file) as (page, errors, failed):
        check(page, 0, 2.0)
        for name, delta, eps, words in (
            ("Three times", 3.0, 0.0, "Layer norm does not notice. With case 1 times 3.00, 4 numbers move"),
            ("Negative", -1.0, 0.0, "Layer norm turns the sign of this case"),
            ("A twentieth, with ε", 0.05, 1e-3, "Layer norm notices, because ε is not small"),
            ("A twentieth", 0.05, 0.0, "Layer norm does not notice."),
        ):
            page.get_by_role("button", name=name, exact=True).click()
            check(page, 0, delta, eps)
            assert settled(page).startswith(words)
            assert "Batch norm moves 16" in settled(page)
        page.get_by_role("radio", name="3").check()
        check(page, 2, 0.05)
        assert "With case 3 times 0.05" in settled(page)
        assert page.locator(".layer .chosen p").inner_text().startswith("case 3")
        assert (errors, failed) == ([], [])


@pytest.mark.browser
def test_the_keyboard_reaches_every_control(chromium, file):
    with chromium.open_page(file) as (page, errors, _):
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")
        check(page, 1, 2.0)
        page.keyboard.press("Tab")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        check(page, 1, -2.95)
        page.keyboard.press("Tab")
        page.keyboard.press("End")
        check(page, 1, -2.95, 0.1)
        assert page.get_by_role("slider", name="ε, added").get_attribute("aria-valuetext") == "1e−1"
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        check(page, 1, 3.0)
        assert errors == []


@pytest.mark.browser
def test_the_rows_are_described_in_words(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        page.get_by_role("button", name="Negative").click()
        labels = page.locator("[role=img]").evaluate_all("all => all.map(row => row.ariaLabel)")
        assert len(labels) == 12
        numbers = ", ".join(f"{value:.2f}" for value in expected(GRIDS[0], 0, -1.0, 0.0)["layer"][0])
        assert labels[8] == f"Layer norm, case 1, × −1.00: {numbers}".replace("-", "−")
        assert labels[9].startswith("Layer norm, case 2, same:")

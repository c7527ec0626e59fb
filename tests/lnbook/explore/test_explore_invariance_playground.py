"""The invariance playground: its arithmetic against lnlib, and what a reader meets in a browser."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from explorable import evaluate, said

from lnbook.explore.invariance_playground import START, invariance_playground, transformations
from lnlib.invariance import COLUMNS, PAPER, measure, normalized, statistics, summed_inputs, table1
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import layer_norm, rms_norm

FIGURE = invariance_playground  # of the fixture `file`
NORMS = ("none", "batch", "weight", "layer", "rms")
ROWS = NORMS[1:]
WORDS = {
    "invariant": "✓ invariant",
    "equivariant": "± flips sign",
    "nearly": "≈ changes by ",
    "no": "changes by ",
}
KINDS = {"invariant": "same", "equivariant": "flipped", "nearly": "nearly", "no": "changed"}


def layer(state: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    W, X = (torch.tensor(state[name], dtype=torch.float64) for name in "WX")
    return W, X


def moves(state: dict[str, Any], sizes: Any) -> list[Any]:
    """The transformations of the six columns."""
    gamma, shift = np.array(state["gamma"]), np.array(state["shift"])
    return transformations(sizes, gamma, shift, len(state["W"]), len(state["X"]))


def outputs(state: dict[str, Any], norm: str, by: Any, eps: float, frozen: bool) -> list[torch.Tensor]:
    """Before and after, by lnlib."""
    W, X = layer(state)
    kept = statistics(summed_inputs("batch", W, X)) if frozen and norm == "batch" else None
    return [normalized(norm, W, X, eps=eps, frozen=kept, by=move) for move in (None, by)]


def cell(state: dict[str, Any], norm: str, column: int, by: Any, eps: float, frozen: bool) -> Any:
    """One cell of the table, by lnlib."""
    W, X = layer(state)
    return measure(norm, by, W, X, name=COLUMNS[column], eps=eps, frozen=frozen)


def settings() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Layers with settings of every control; no scale is 0, which lnlib's transformations refuse."""
    rng = np.random.default_rng(0)
    drawn = []
    for seed, (units, inputs, cases) in enumerate([(4, 3, 5), (6, 8, 8), (3, 2, 4), (4, 5, 3)]):
        W, X = rng.normal(size=(units, inputs)).round(2), rng.normal(size=(cases, inputs)).round(2)
        state = invariance_playground(W, X, seed=seed).state
        for eps in (0.0, 1e-8, 1e-5, 0.1):
            sizes = [float(size) or 0.05 for size in np.round(rng.uniform(-3, 3, 6), 1)]
            drawn.append((state, {"sizes": sizes, "eps": eps, "frozen": bool(rng.integers(2))}))
    state = invariance_playground().state
    named = [
        {"sizes": list(START), "eps": 0.0, "frozen": False},
        {"sizes": list(START), "eps": 0.0, "frozen": True},
        {"sizes": [-2.0, 1.0, -2.0, -2.0, 1.0, -2.0], "eps": 0.0, "frozen": False},
        {"sizes": [0.05, 1.0, 0.05, 0.05, 1.0, 0.05], "eps": 1e-3, "frozen": False},
        {"sizes": [1.0, 0.0, 1.0, 1.0, 0.0, 1.0], "eps": 1e-5, "frozen": True},
    ]
    return drawn + [(state, setting) for setting in named]


def play(cases: list[tuple[dict[str, Any], dict[str, Any]]]) -> Any:
    """`playground` of the script on each case: for each column before, after, verdicts."""
    call = f"{json.dumps(cases)}.map(([given, setting]) => playground(given, setting))"
    return evaluate("invariance_playground", call)


def test_the_outputs_and_the_verdicts_are_those_of_lnlib():
    seen = Counter()
    for (state, setting), results in zip(settings(), play(settings()), strict=True):
        sizes, *rest = setting.values()
        for (column, by), result in zip(enumerate(moves(state, sizes)), results, strict=True):
            for norm in NORMS:
                for key, want in zip(("before", "after"), outputs(state, norm, by, *rest), strict=True):
                    atol = 1e-9 * max(1.0, float(want.abs().max()))
                    np.testing.assert_allclose(result[key][norm], want.numpy(), rtol=0, atol=atol)
                row, shown = cell(state, norm, column, by, *rest), result["verdicts"][norm]
                # Both round, by at most 1e-12; an eps of 1e-8 changes an output by more than 1e-10.
                assert shown["change"] == pytest.approx(row.max_relative_change, rel=1e-6, abs=1e-12)
                assert shown["kind"] == KINDS[row.verdict], (norm, COLUMNS[column], setting, row)
                seen[shown["kind"]] += 1
    assert min(seen[kind] for kind in KINDS.values()) >= 20, seen


def test_a_scale_of_zero_gives_what_lnlib_normalizes_zeros_to():
    state = invariance_playground().state
    W, X = layer(state)
    for eps in (0.0, 1e-5):
        erase = {"sizes": [0, 0, 0, 0, 0, 0], "eps": eps, "frozen": False}
        [results] = play([(state, erase)])
        for column in (0, 3):  # no matrix, no data
            for norm in NORMS:
                assert not np.any(results[column]["after"][norm]), norm
        one_unit, one_case = W.clone(), X.clone()
        one_unit[0], one_case[0] = 0, 0
        for column, a in ((2, X @ one_unit.T), (5, one_case @ W.T)):
            for norm, run in (("batch", batch_norm), ("layer", layer_norm), ("rms", rms_norm)):
                want = run(a, eps=eps).numpy()
                np.testing.assert_allclose(results[column]["after"][norm], want, rtol=0, atol=1e-9)


def test_what_the_figure_promises_is_what_lnlib_measures_on_random_layers():
    promised = invariance_playground().state["promised"]
    rows = table1(ROWS)
    assert {norm: [row.invariant for row in rows if row.norm == norm] for norm in ROWS} == promised


def test_the_columns_and_their_moves_are_those_of_table_1():
    columns = invariance_playground().state["columns"]
    assert [column.lower() for column in columns] == [name.replace("training ", "") for name in COLUMNS]
    assert evaluate("invariance_playground", "MOVES.length") == len(COLUMNS)


def texts(page: Any) -> np.ndarray:
    """The verdicts as a screen reader gets them, methods by columns."""
    cells = page.locator("section tbody tr:not(.now) td").all_text_contents()
    return np.array(cells).reshape(len(ROWS), len(COLUMNS))


def check_table(page: Any, sizes: Any, eps: float = 0.0, frozen: bool = False) -> Counter[str]:
    """Every cell of the live table against lnlib, to the printed digit; how the paper's cells fare."""
    state, paper = invariance_playground().state, Counter()
    for column, by in enumerate(moves(state, sizes)):
        for norm, text in zip(ROWS, texts(page)[:, column], strict=True):
            row = cell(state, norm, column, by, eps, frozen)
            promised = state["promised"][norm][column]
            assert ("(invariance broken)" in text) == (promised and not row.invariant)
            assert text.startswith(WORDS[row.verdict])
            if row.verdict in ("nearly", "no"):
                number = text.split("changes by ")[1].split("\u00a0%")[0].replace("−", "-")
                step = 10.0 ** int(number.split("e")[1]) if "e" in number else 0.1 if "." in number else 1
                assert abs(float(number) - 100 * row.max_relative_change) <= 0.500001 * step
            if PAPER.get((norm, COLUMNS[column])):
                paper[row.verdict] += 1
    return paper


def check_drawing(page: Any, column: int, sizes: Any, eps: float = 0.0, frozen: bool = False) -> None:
    """The numbers behind the squares and discs, to the digits that they carry."""
    state = invariance_playground().state
    by = moves(state, sizes)[column]
    for norm in NORMS:
        titles = page.locator(f".panel.{norm} .cell").evaluate_all("all => all.map(cell => cell.title)")
        drawn = [[float(number.replace("−", "-")) for number in title.split(" → ")] for title in titles]
        want = torch.stack([out.flatten() for out in outputs(state, norm, by, eps, frozen)], 1)
        np.testing.assert_allclose(drawn, want.numpy(), rtol=0, atol=0.0000501)


@pytest.mark.browser
def test_the_presets_break_the_cells_that_they_name(chromium, file):
    some = [size if size != 1 else None for size in START]  # None: a shift
    tests = {
        "Reset": ({"sizes": START}, "Of the 10 cells that the paper calls invariant, all hold."),
        "Negative δ": (
            {"sizes": [-size if size else 1 for size in some]},
            "Of the 10 cells that the paper calls invariant, 2 hold, 8 flip the sign.",
        ),
        "Small variance beside ε": (
            {"sizes": [0.05 if size else 1 for size in some], "eps": 1e-3},
            "Of the 10 cells that the paper calls invariant, 4 hold, 6 fail.",
        ),
        "Frozen statistics": (
            {"sizes": START, "frozen": True},
            "Of the 10 cells that the paper calls invariant, 6 hold, 4 fail.",
        ),
    }
    with chromium.open_page(file) as (page, _, _):
        for name, (setting, words) in [*tests.items(), *tests.items()]:
            page.get_by_role("button", name=name).click()
            paper = check_table(page, **setting)
            check_drawing(page, 0, **setting)
            assert said(page).endswith(words)
            for verdict, verb in (("invariant", "hold"), ("equivariant", "flip"), ("no", "fail")):
                assert paper[verdict] in (0, 10) or f"{paper[verdict]} {verb}" in words


@pytest.mark.browser
def test_each_column_remembers_its_size_and_a_tap_on_a_cell_selects_it(chromium, file):
    with chromium.open_page(file, has_touch=True) as (page, _, _):
        size = page.get_by_role("slider").first
        size.fill("0.5")
        page.locator("tr.layer td").nth(3).tap()
        assert page.get_by_role("radio", name="Dataset re-scaling").is_checked()
        assert size.input_value() == "2"
        size.fill("-1.25")
        page.locator("tr.now td").nth(0).tap()
        assert size.input_value() == "0.5"
        assert page.locator("tr.now td").all_inner_texts() == [
            "δ = 0.5", "γ = 1", "δ = 2", "δ = −1.25", "γ = 1", "δ = 2",
        ]  # fmt: skip
        sizes = [0.5, 1, 2, -1.25, 1, 2]
        check_table(page, sizes)
        for column, name in enumerate(COLUMNS):
            name = name.replace(" training", "")
            page.get_by_role("radio", name=name).check()
            assert said(page).lower().startswith(f"{name}:")
            assert page.locator(".chosen").count() == 2 + len(ROWS)
            check_drawing(page, column, sizes)


@pytest.mark.browser
def test_no_change_at_all_and_a_scale_of_zero_are_called_so(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        size = page.get_by_role("slider").first
        size.fill("1")
        assert "stay the same. δ = 1 is no change at all." in said(page)
        size.fill("0")
        assert "norm change. δ = 0 leaves nothing to normalize." in said(page)
        assert set(texts(page)[:, 0]) == {"changes by 100\u00a0% (invariance broken)"}
        page.get_by_role("radio", name="Dataset re-centering").check()
        size.fill("0")
        assert "γ = 0 is no change at all." in said(page)


@pytest.mark.browser
def test_the_live_text_speaks_when_a_verdict_turns_and_not_at_every_step(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        page.get_by_role("status").evaluate(
            "node => { spoken = 0; new MutationObserver(() => spoken++).observe(node, { childList: true }) }"
        )
        size = page.get_by_role("slider").first
        for value in ("2.5", "2.75", "3", "1.5"):
            size.fill(value)
        assert page.evaluate("spoken") == 0
        size.fill("-1.5")
        assert page.evaluate("spoken") == 1

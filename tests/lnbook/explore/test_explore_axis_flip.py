"""The axis flip: its arithmetic against lnlib, and what a reader meets in a browser."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from explorable import evaluate, said

from lnbook.explore.axis_flip import axis_flip
from lnlib import equations
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import layer_norm

FIGURE = axis_flip  # of the fixture `file`
GIVEN = np.array(axis_flip().state["a"])
EPS = 1e-5
LNLIB = {
    "none": lambda a, eps: a,
    "batch": lambda a, eps: batch_norm(a, eps=eps),
    "layer": lambda a, eps: layer_norm(a, eps=eps),
}


def expected(grid: np.ndarray, method: str, eps: float = EPS) -> np.ndarray:
    return LNLIB[method](torch.from_numpy(np.array(grid, dtype=np.float64)), eps).numpy()


def grids() -> dict[str, np.ndarray]:
    """Grids that every figure must normalize as lnlib does."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(6, 8))
    random = {f"random {k}": rng.normal(size=(rng.integers(1, 13), rng.integers(1, 11))) for k in range(40)}
    return random | {
        "constant row": np.vstack([np.full(8, 0.1), normal]),
        "constant column": np.hstack([np.full((6, 1), 1 / 3), normal]),
        "batch of one": normal[:1],
        "one unit": normal[:, :1],
        "zeros": np.zeros((3, 4)),
        "mean 1e6": normal + 1e6,
        "huge": normal * 1e300,
        "tiny": normal * 1e-200,
        "mixed magnitudes": normal * 10.0 ** rng.integers(-8, 9, size=(6, 8)),
    }


def test_the_script_normalizes_as_lnlib_does_by_the_statistics_of_equations_2_and_3():
    cases = [(name, a, m, eps) for name, a in grids().items() for m in LNLIB for eps in (EPS, 0.0)]
    given = json.dumps([[a.tolist(), method, eps] for _, a, method, eps in cases])
    results = evaluate("axis_flip", f"{given}.map(([a, method, eps]) => normalize(a, method, eps))")
    for (name, a, method, eps), result in zip(cases, results, strict=True):
        out = np.array(result["out"])
        label = f"{name}, {method}, {eps}"
        np.testing.assert_allclose(out, expected(a, method, eps), rtol=1e-12, atol=1e-12, err_msg=label)
        zeros = {
            ("constant row", "layer"): out[0],
            ("constant column", "batch"): out[:, 0],
            ("batch of one", "batch"): out,
            ("one unit", "layer"): out,
        }.get((name, method))
        assert zeros is None or not zeros.any(), label  # equal values become exactly 0
        if name in ("huge", "tiny"):  # their squares leave the range of the literal equations
            continue
        tolerance = {"rtol": 1e-12, "atol": 1e-15 * float(np.abs(a).max()) * 8 + 1e-300, "err_msg": name}
        mean, std = equations.eq2_statistics(a)
        np.testing.assert_allclose([group["mean"] for group in result["units"]], mean, **tolerance)
        np.testing.assert_allclose([group["std"] for group in result["units"]], std, **tolerance)
        for row, group in zip(a, result["cases"], strict=True):
            np.testing.assert_allclose((group["mean"], group["std"]), equations.eq3(row), **tolerance)


def shown(page: Any, role: str, kind: str) -> list[float]:
    """The numbers of one kind ("cell", "stat") in the panel of that role; blanks left out."""
    texts = page.locator(f'[role="{role}"] .{kind}').all_inner_texts()
    return [float(text.replace("−", "-")) for text in texts if text]


def check_numbers(page: Any, a: np.ndarray, method: str) -> None:
    """Everything printed, of inputs and outputs, against lnlib."""
    out = expected(a, method)
    np.testing.assert_allclose(shown(page, "table", "cell"), out.ravel(), atol=0.0500001)
    for role, grid in (("grid", a), ("table", out)):
        rows = np.stack([grid.mean(1), grid.std(1)], axis=1).ravel()
        stats = np.concatenate([grid.mean(0), grid.std(0), rows])
        np.testing.assert_allclose(shown(page, role, "stat"), stats, atol=0.0050001)


@pytest.mark.browser
def test_every_method_and_every_batch_size_prints_what_lnlib_computes(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        assert said(page).startswith("Batch norm reads down the column.")
        for method in ("none", "batch", "layer"):
            page.locator(f"label.{method}").click()
            check_numbers(page, GIVEN, method)
        for size in (5, 4, 3, 2, 1):
            page.get_by_role("slider").press("ArrowLeft")
            check_numbers(page, GIVEN[:size], "layer")
            assert f"0 of the {8 * size} remaining outputs moved" in said(page)
        assert "so one case is enough" in said(page)
        page.get_by_role("slider").press("End")
        page.locator("label.batch").click()
        page.get_by_role("slider").press("Home")
        check_numbers(page, GIVEN[:1], "batch")
        assert shown(page, "table", "cell") == [0.0] * 8
        assert said(page).startswith("Batch norm has nothing to read.")
        assert "8 of the 8 remaining outputs moved" in said(page)
        page.locator('[aria-selected="true"]').press("+")
        assert "0 of 8 outputs moved." in said(page)
        assert page.locator('[role="table"] .moved').count() == 0


@pytest.mark.browser
def test_a_changed_cell_marks_the_outputs_that_depend_on_it(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        for method, moves, words in (
            ("none", {(2, 2)}, "1 of 48 outputs moved, all in case 3."),
            ("batch", {(i, 2) for i in range(6)}, "6 of 48 outputs moved, in 6 cases."),
            ("layer", {(2, j) for j in range(8)}, "8 of 48 outputs moved, all in case 3."),
        ):
            page.locator(f"label.{method}").click()
            page.locator('[role="grid"] .cell').nth(8 + 2).click()
            page.keyboard.press("ArrowDown")
            page.keyboard.press("+")
            a = GIVEN.copy()
            a[2, 2] += 0.5
            check_numbers(page, a, method)
            marked = page.locator('[role="table"] .cell').evaluate_all(
                "cells => cells.flatMap((cell, k) => cell.classList.contains('moved') ? [k] : [])"
            )
            assert {divmod(k, 8) for k in marked} == moves
            assert words in said(page)
            page.get_by_role("button", name="Reset").click()
            check_numbers(page, GIVEN, method)


@pytest.mark.browser
def test_the_selection_stays_inside_and_the_buttons_do_what_the_keys_do(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        page.locator('[role="grid"] .cell').nth(47).click()
        for key in ("ArrowRight", "ArrowDown"):
            page.keyboard.press(key)
        assert page.get_by_text("Case 6, unit 8:").is_visible()
        page.get_by_role("button", name="Decrease").click()
        a = GIVEN.copy()
        a[5, 7] -= 0.5
        check_numbers(page, a, "batch")
        page.get_by_role("slider").press("Home")
        page.locator('[role="grid"] .cell').nth(47).click()  # outside the batch: not selectable
        assert page.get_by_text("Case 1, unit 8:").is_visible()


@pytest.mark.browser
@pytest.mark.parametrize(("preference", "running"), [("no-preference", 2), ("reduce", 0)])
def test_nothing_moves_for_readers_who_asked_for_less_motion(chromium, file, preference, running):
    with chromium.open_page(file, reduced_motion=preference) as (page, _, _):
        count = """section => {
          section.querySelector('label.layer input').click();
          return section.getAnimations({ subtree: true }).length;
        }"""
        assert page.locator("section").evaluate(count) == running

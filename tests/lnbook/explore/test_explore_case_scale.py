"""Case scale: the figure's arithmetic against lnlib, and what a reader meets in a browser."""

from __future__ import annotations

import json
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
GRIDS = [np.array(case_scale().state["a"])]
GRIDS += [
    np.random.default_rng(k).normal(size=size).round(1) for k, size in enumerate(((3, 6), (6, 3), (5, 5)))
]
GRIDS.append(np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 4.0], [0.0, 0.0, 0.0]]))  # nothing to divide by
EPSILONS = (0.0, 1e-8, 1e-5, 0.1)
DELTAS = (-3.0, -1.0, -0.05, 0.0, 0.05, 0.5, 1.0, 1.05, 3.0)


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


def test_the_script_normalizes_as_lnlib_does_and_the_factor_is_what_layer_norm_does_to_the_case():
    states = [
        (k, {"row": row, "delta": delta, "eps": eps})
        for (k, row), delta, eps in product(
            ((0, 0), (1, 2), (2, 5), (3, 1), (4, 0), (4, 1), (4, 2)), DELTAS, EPSILONS
        )
    ]
    given = json.dumps([{"a": a.tolist()} for a in GRIDS])
    run = f"{json.dumps(states)}.map(([k, state]) => measure(given[k], state))"
    results = evaluate("case_scale", f"((given) => {run})({given})")
    for (k, state), result in zip(states, results, strict=True):
        a, row, delta, eps = GRIDS[k], *state.values()
        want = {"before": expected(a, row, 1.0, eps), "after": expected(a, row, delta, eps)}
        for when, method in product(want, METHODS):
            label = f"{k}, {state}, {method}"
            np.testing.assert_allclose(result[when][method], want[when][method], atol=1e-13, err_msg=label)
        power = a[row].var()
        assert result["power"] == pytest.approx(power, rel=1e-12)
        if delta and power:
            factor = float(eps_factor(torch.tensor(power, dtype=torch.float64), eps, delta))
            assert result["factor"] == pytest.approx(factor, rel=1e-12)
        before, after = (np.array(result[when]["layer"]) for when in ("before", "after"))
        np.testing.assert_allclose(after[row], result["factor"] * before[row], atol=1e-12)
        np.testing.assert_array_equal(np.delete(after, row, 0), np.delete(before, row, 0))
        for method in METHODS:
            by = np.abs(want["after"][method] - want["before"][method])
            np.testing.assert_allclose(result["moves"][method], by.max(1), atol=1e-12)
        if k < 4:  # what counts as a move is told from rounding
            own = np.arange(len(a)) == row
            layer = delta != 1 and (delta <= 0 or eps > 0)
            assert [bool(by) for by in result["moves"]["layer"]] == list(own & layer)
            assert [bool(by) for by in result["moves"]["none"]] == list(own & (delta != 1))
            assert [bool(by) for by in result["moves"]["batch"]] == [delta != 1] * len(a)  # all of them


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
def test_the_controls_show_what_lnlib_computes_and_say_it_in_words(chromium, file):
    with chromium.open_page(file) as (page, _, _):
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
        page.get_by_role("slider", name="Multiply").fill("-2.95")
        page.get_by_role("slider", name="ε, added").press("End")
        check(page, 2, -2.95, 0.1)
        assert page.get_by_role("slider", name="ε, added").get_attribute("aria-valuetext") == "1e−1"
        label = page.locator("[role=img]").nth(10).get_attribute("aria-label")
        numbers = ", ".join(f"{value:.2f}" for value in expected(GRIDS[0], 2, -2.95, 0.1)["layer"][2])
        assert label.endswith(f": {numbers}".replace("-", "−"))

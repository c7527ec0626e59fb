"""Gain and bias: the figure's arithmetic against lnlib, and what a reader meets in a browser."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from explorable import evaluate, settled

from lnbook.explore.gain_and_bias import gain_and_bias
from lnlib.norms.normalize import layer_norm

FIGURE = gain_and_bias  # of the fixture `file`
CASE = np.array(gain_and_bias().state["a"])
MEAN, STD = CASE.mean(), CASE.std()


def expected(a: np.ndarray, state: dict[str, Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The changed case, standardized, and the output, by lnlib."""
    case = torch.from_numpy(state["delta"] * a + state["shift"])
    gains, biases = (torch.tensor(state[name], dtype=torch.float64) for name in ("gains", "biases"))
    hat, out = layer_norm(case, eps=0.0), layer_norm(case, gains, biases, eps=0.0)
    return case.numpy(), hat.numpy(), out.numpy()


def setting(gains: Any, biases: Any, delta: float = 1.0, shift: float = 0.0) -> dict[str, Any]:
    """A state of the figure for the drawn case; one number stands for all units."""
    full = [np.broadcast_to(np.asarray(values, float), CASE.shape).tolist() for values in (gains, biases)]
    return {"delta": delta, "shift": shift, "gains": full[0], "biases": full[1]}


def test_the_script_normalizes_as_lnlib_does():
    rng = np.random.default_rng(0)
    vectors = [rng.normal(size=units) * 10.0 ** rng.integers(-6, 7) for units in (2, 3, 4, 5, 6) * 8]
    vectors += [np.full(4, 0.1), np.zeros(3), rng.normal(size=4) + 1e6, np.array([1.0, 3.0, 9.0, 19.0])]
    cases = [
        (
            a,
            {
                "delta": float(rng.uniform(0.2, 3)),
                "shift": float(rng.normal() * np.abs(a).max()),
                "gains": rng.normal(size=len(a)).tolist(),
                "biases": rng.normal(size=len(a)).tolist(),
            },
        )
        for a in vectors
    ]
    given = json.dumps([[a.tolist(), state] for a, state in cases])
    results = evaluate("gain_and_bias", f"{given}.map(([a, state]) => pass(a, state))")
    for (a, state), result in zip(cases, results, strict=True):
        case, hat, out = expected(a, state)
        # what the shift rounds off is in the case already, which both normalize
        np.testing.assert_allclose(result["a"], case, rtol=1e-15)
        np.testing.assert_allclose(result["hat"], hat, atol=1e-12, err_msg=str(a))
        np.testing.assert_allclose(result["out"], out, atol=1e-12, err_msg=str(a))
        assert result["mean"] == pytest.approx(case.mean(), rel=1e-12, abs=1e-15 * np.abs(case).max())
        assert result["std"] == pytest.approx(case.std(), rel=1e-9, abs=1e-15 * np.abs(case).max())


@pytest.mark.parametrize(
    ("state", "headline", "remark"),
    [
        (setting(1, 0), "With gain 1 and bias 0, the standardized case goes on", "belong to this one."),
        (setting(STD, MEAN), "Gain and bias give this case back.", "they will not follow."),
        (setting(STD, MEAN, delta=2.0), "The case changed, and the output did not.", "The case times 2.0 st"),
        (setting(1, 0, shift=-3.0), "The case changed, and the output did not.", "The case minus 3.0 st"),
        (setting(1, 0, 0.5, 3.0), "The case changed, and the output did not.", "case times 0.5, plus 3.0 st"),
        (setting(0, 1), "With gain 0, nothing of the case is left: the output is the bias.", "belong to"),
        (setting(2, 1), "Gain and bias reshape the standardized case.", "A unit keeps its gain"),
        # with the gain and bias of the changed case, that one comes back
        (setting(2 * STD, 2 * MEAN, 2.0), "Gain and bias give this case back.", "its scale and its mean are"),
    ],
)
def test_the_words_fit_the_state(state, headline, remark):
    words = evaluate(
        "gain_and_bias",
        f"((a, state) => explain(state, pass(a, state)))({json.dumps(CASE.tolist())}, {json.dumps(state)})",
    )
    assert words[0].startswith(headline)
    assert remark in words[2]
    case, _, out = expected(CASE, state)
    numbers = [float(text.strip("., ").replace("−", "-")) for text in words[1].split() if text[-2].isdigit()]
    np.testing.assert_allclose(numbers, [case.mean(), case.std(), out.mean(), out.std()], atol=0.051)


def test_the_drawn_case_has_a_whole_mean_and_a_whole_standard_deviation():
    for seed in range(50):
        a = np.array(gain_and_bias(seed=seed).state["a"])
        assert len(set(a)) == 4
        assert a.mean() == int(a.mean())
        assert a.std() == pytest.approx(round(a.std()), abs=1e-12)  # a square root
        assert a.std() > 1.9


def check(page: Any, state: dict[str, Any]) -> None:
    """Every number that is printed below a bar or beside a row, against lnlib."""
    for kind, want in zip(("none", "hat", "layer"), expected(CASE, state), strict=True):
        texts = page.locator(f".{kind} .bars span").all_inner_texts()
        shown = [float(text.replace("−", "-")) for text in texts]
        np.testing.assert_allclose(shown, want, atol=0.0501, err_msg=kind)  # above 10, one decimal
        mean, std = page.locator(f".{kind} .title span").inner_text().replace("−", "-").split(", ")
        assert float(mean.removeprefix("mean ")) == pytest.approx(want.mean(), abs=0.0501)
        assert float(std.removeprefix("std ")) == pytest.approx(want.std(), abs=0.0501)


@pytest.mark.browser
def test_the_buttons_show_what_comes_back_and_what_does_not(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        check(page, setting(1, 0))
        for name, state in (
            ("Then twice as loud", setting(STD, MEAN, delta=2.0)),
            ("Gain 0, bias 1", setting(0, 1)),
            ("Gain 1, bias 0", setting(1, 0)),
            ("Give the case back", setting(STD, MEAN)),
        ):
            page.get_by_role("button", name=name).click()
            check(page, state)
        assert settled(page).startswith("Gain and bias give this case back.")


@pytest.mark.browser
def test_the_sliders_change_the_case_all_units_or_one(chromium, file):
    state = setting(1, 0)
    with chromium.open_page(file) as (page, _, _):
        for label, name in (("Case times", "delta"), ("Case plus", "shift")):
            page.get_by_role("slider", name=label).press("ArrowRight")
            state[name] += 0.1
            check(page, state)
        for label, name, one in (("All gains", "gains", "gain"), ("All biases", "biases", "bias")):
            page.get_by_role("slider", name=label).press("ArrowRight")
            state[name] = [value + 0.1 for value in state[name]]
            check(page, state)
            page.get_by_role("group", name="Unit 3").get_by_role("slider", name=one).press("ArrowLeft")
            state[name][2] -= 0.1
            check(page, state)
            assert page.get_by_role("slider", name=f"{label}: differ").count() == 1


@pytest.mark.browser
def test_the_bars_are_as_long_as_their_numbers_and_the_dashes_show_the_case(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        page.get_by_role("button", name="Give the case back").click()
        want = 50 * CASE / (1.6 * np.abs(CASE).max())
        for kind in ("bar", "before"):
            heights = page.locator(f".layer .{kind}").evaluate_all(
                "all => all.map(({ style }) => (style.bottom ? 1 : -1) * parseFloat(style.height))"
            )
            np.testing.assert_allclose(heights, want, atol=1e-3)
        page.get_by_role("slider", name="Case times").press("End")
        assert page.locator(".none .over").count() > 0  # three times as loud: over the edge
        assert page.locator(".layer .bar.over").count() == 0
        label = page.locator(".layer [role=img]").get_attribute("aria-label")
        assert label == "Output: gain × standardized + bias: 6.00, 0.00, −8.00, −2.00"

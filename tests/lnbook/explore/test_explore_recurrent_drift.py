"""Recurrent drift: its arithmetic against lnlib's recurrent network, and what a reader meets in a browser."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from explorable import evaluate, settled

from lnbook.explore.recurrent_drift import FUNCTIONS, PRESETS, Setting, _draw, recurrent_drift, unroll
from lnlib.rnn import RNN
from lnlib.rnn.diagnostics import jacobians

FIGURE = recurrent_drift  # of the fixture `file`
LANES = {"plain": False, "layer": True}
SERIES = ("summed", "states", "gradients")
WEIGHTS = [recurrent_drift().state, *(_draw(seed, units) for seed, units in ((1, 8), (2, 32), (3, 16)))]


@cache
def unrolled(index: int, setting: Setting, lane: str) -> dict[str, np.ndarray]:
    """What lnlib plots of one recurrence."""
    values = unroll(WEIGHTS[index], setting, LANES[lane])
    return {name: value.numpy() for name, value in zip(SERIES, values, strict=True)}


def call(function: str, cases: list[Any]) -> Any:
    """A function of the script for each case (index of the weights, arguments)."""
    run = f"{json.dumps(cases)}.map(([k, ...rest]) => {function}(given[k], ...rest))"
    return evaluate("recurrent_drift", f"((given) => {run})({json.dumps(WEIGHTS)})")


@pytest.fixture(scope="module")
def drifted() -> list[tuple[int, Setting, Any]]:
    """Weights, settings (buttons' and drawn ones), and what the script plots of them.

    Without a nonlinearity, which lnlib's network does not have, see the buttons of the figure.
    """
    rng = np.random.default_rng(0)
    drawn = [
        Setting(f, *np.round([rng.uniform(0.5, 2), rng.uniform(0.1, 4), u], 2).tolist(), T)
        for f in FUNCTIONS
        for u, T in ((0.0, 10), (0.0, 200), (0.3, 100), (0.65, 30), (1.0, 200))
    ]
    settings = [setting for setting in (*PRESETS.values(), *drawn) if setting.f != "none"]
    cases = list(product(range(len(WEIGHTS)), settings))
    results = call("drift", [[index, asdict(setting)] for index, setting in cases])
    return [(*case, result) for case, result in zip(cases, results, strict=True)]


def library(index: int, setting: Setting, lane: str) -> RNN:
    """lnlib's network with the figure's weights."""
    W, V = (torch.tensor(WEIGHTS[index][name], dtype=torch.float64) for name in "WV")
    options = {"norm": "layer", "eps": 0.0} if LANES[lane] else {"norm": "none"}
    rnn = RNN(2, len(W), nonlinearity=setting.f, bias=False, dtype=torch.float64, **options)
    with torch.no_grad():
        rnn.weight_hh_l0.copy_(setting.s * W)
        rnn.weight_ih_l0.copy_(setting.u * V)
        if LANES[lane]:
            rnn.gain_ih_l0.fill_(setting.g)
    return rnn


def test_every_step_is_the_one_of_lnlibs_network_also_where_the_recurrence_is_chaotic(drifted):
    cases = [(k, s, lane, r[lane]["gradients"]) for k, s, r in drifted for lane in LANES]
    runs = call("forward", [[k, asdict(s), LANES[lane]] for k, s, lane, _ in cases])
    chaotic = 0
    for (index, setting, lane, gradients), run in zip(cases, runs, strict=True):
        states = torch.tensor(run["states"], dtype=torch.float64)
        x = torch.tensor(WEIGHTS[index]["x"], dtype=torch.float64)[None, : setting.T]
        rnn, before = library(index, setting, lane), states[None, :-1]  # every step is a case
        with torch.no_grad():
            _, after = rnn(x, before)
        # rounding of sums of at most 32 products, relative to the largest state of the step
        error = (after[0] - states[1:]).abs().amax(1)
        assert (error <= 1e-12 * states[1:].abs().amax(1)).all(), (index, setting, lane)
        product = torch.eye(states.shape[1], dtype=torch.float64)
        sizes = [1.0]
        for jacobian in jacobians(rnn, x, before)[0].detach().flip(0):
            product = product @ jacobian
            sizes.insert(0, float(product.square().sum(1).mean().sqrt()))
        got, label = np.array(gradients, dtype=float), f"{index}, {setting}, {lane}"
        np.testing.assert_allclose(got, sizes, rtol=1e-8, err_msg=label)
        chaotic += max(sizes) > 1e8
    assert chaotic >= 8


def test_the_advice_helps():
    def back(index: int, setting: Setting) -> float:
        return float(unrolled(index, setting, "layer")["gradients"][1])

    exploding = 0
    for index, g, u in product(range(len(WEIGHTS)), (1.0, 2.0, 3.0, 4.0), (0.0, 0.2, 0.5)):
        setting = Setting("tanh", g=g, u=u)
        if back(index, setting) > 10:  # "Try a smaller g."
            exploding += 1
            assert back(index, replace(setting, g=g / 2)) < back(index, setting), (index, setting)
    assert exploding >= 20
    for index, f in product(range(len(WEIGHTS)), FUNCTIONS):  # a fading gradient: "Try a larger s/u."
        sizes = [back(index, Setting(f, s=s, u=1.0)) for s in (0.5, 1.0, 2.0)]
        assert sizes == sorted(sizes), (index, f)


def check_close(text: str, want: float) -> None:
    """A printed size against its value: two decimals, or two digits and a power of ten."""
    shown = float(text.replace("−", "-").replace("×", ""))
    assert abs(shown - want) <= max(
        0.00501, 0.051 * 10 ** np.floor(np.log10(want)) if "e" in text else 0.51 * (want > 9.9)
    )


def check_table(page: Any, setting: Setting) -> None:
    """The printed numbers of both lanes against lnlib."""
    T = setting.T
    for lane in LANES:
        run = unrolled(0, setting, lane)
        states, back = run["states"], run["gradients"][1]
        want = (
            run["summed"][-1],
            states[T],
            (states[T] / states[1]) ** (1 / (T - 1)),
            back,
            back ** (1 / (T - 1)),
        )
        for text, value in zip(page.locator(f"tr.{lane} td").all_inner_texts(), want, strict=True):
            check_close(text, value)


def check_lines(page: Any, setting: Setting) -> None:
    """The drawn lines against lnlib, to a thousandth of the plot."""
    for k, name in enumerate(SERIES):
        plot = page.locator(".plot").nth(k)
        for lane in LANES:
            values = unrolled(0, setting, lane)[name]
            points = plot.locator(f"path.{lane}").get_attribute("d")[1:].split("L")
            drawn = np.array([[float(number) for number in point.split(" ")] for point in points])
            steps = np.arange(setting.T + 1 - len(values), setting.T + 1)
            want = np.stack([100 * steps / setting.T, 50 - 50 * np.log10(values) / 6], 1)
            np.testing.assert_allclose(drawn, want, atol=0.1, err_msg=f"{name}, {lane}")
            outside = bool((np.abs(np.log10(values)) > 6).any())
            assert plot.locator(f"i.{lane}").is_visible() == outside, (name, lane)


@pytest.mark.browser
def test_the_buttons_plot_and_print_what_lnlib_computes(chromium, file):
    words = {
        "It fades": ("Plain states fade, layer-normalized states hold.", "no blue line moves."),
        "It explodes": ("Plain states explode, layer-normalized states hold.", "no blue line moves."),
        "tanh holds it": ("Both kinds of states hold.", "explodes, ×1.06 a step. Try a smaller g."),
        "High gain": ("Both kinds of states hold.", "explodes, ×1.28 a step. Try a smaller g."),
        "Weak weights": ("Both kinds of states hold.", "fades, ×0.41 a step. Try a larger s/u."),
        "Both weak": ("Both kinds of states hold.", "fades, ×0.94 a step. Try a larger s/u."),
        "Strong inputs": ("Both kinds of states hold.", "fades, ×0.80 a step. Try a larger s/u."),
    }
    assert words.keys() == PRESETS.keys()
    with chromium.open_page(file) as (page, _, _):
        check_table(page, PRESETS["It fades"])
        for name, (start, end) in [*words.items(), *words.items()]:
            page.get_by_role("button", name=name).click()
            check_table(page, PRESETS[name])
            check_lines(page, PRESETS[name])
            assert settled(page).startswith(start)
            assert settled(page).endswith(end)


@pytest.mark.browser
def test_every_control_changes_the_table_and_the_lines(chromium, file):
    setting = Setting()
    with chromium.open_page(file) as (page, _, _):
        for name, f in (("ReLU", "relu"), ("tanh", "tanh")):
            page.get_by_role("radio", name=name).check()
            setting = replace(setting, f=f)
            check_table(page, setting)
        for k, (name, value) in enumerate({"s": 0.93, "g": 0.2, "u": 0.2, "T": 20}.items()):
            page.get_by_role("slider").nth(k).fill(str(value))
            setting = replace(setting, **{name: value})
            check_table(page, setting)
            check_lines(page, setting)
        assert settled(page).count("s/u = 4.65")
        page.get_by_role("radio", name="none").check()
        setting = replace(setting, f="none")
        check_table(page, setting)
        check_lines(page, setting)
        page.get_by_role("button", name="It explodes").click()
        labels = page.locator(".plot").evaluate_all("all => all.map(plot => plot.ariaLabel)")
        assert [label.split(",")[0] for label in labels] == ["What f gets", "States", "Gradient"]
        assert "plain from 1.00 at step 0 to 1.4e4 at step 100; layer norm from 1.00" in labels[1]


@pytest.mark.browser
def test_the_live_text_follows_a_drag_at_once_and_is_read_out_when_the_reader_pauses(chromium, file):
    """Seen within the task of each event, so that no clock judges; a busy text is not read out."""
    with chromium.open_page(file) as (page, _, _):
        settled(page)
        page.get_by_role("status").evaluate("""node => { spoken = 0;
            const read = () => { if (!node.hasAttribute("aria-busy")) spoken++; };
            new MutationObserver(read).observe(node, { attributeFilter: ["aria-busy"] }); }""")
        seen = page.get_by_role("slider").first.evaluate("""slider => [1, 1.2, 1.4].map(value => {
            slider.value = value; slider.dispatchEvent(new Event("input"));
            const status = slider.getRootNode().querySelector("[role=status]");
            return [status.textContent, status.getAttribute("aria-busy")]; })""")
        assert len({text for text, _ in seen}) == 3
        assert "σ = 1.40" in seen[-1][0]
        assert [busy for _, busy in seen] == ["true"] * 3
        assert settled(page).split() == seen[-1][0].split()
        assert page.evaluate("spoken") == 1


@pytest.mark.browser
def test_where_gradients_explode_the_text_owns_up_to_rounding(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        page.get_by_role("button", name="High gain").click()
        page.get_by_role("slider").last.press("End")
        assert "the blue lines move by rounding alone" in settled(page)
        page.get_by_role("radio", name="none").check()
        assert "no blue line moves" in settled(page)

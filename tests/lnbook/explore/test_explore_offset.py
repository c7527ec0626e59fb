"""The offset: its arithmetic against lnlib, and what a reader meets in a browser."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from explorable import evaluate, settled

from lnbook.explore.offset import RANGE, offset, shifted_weights
from lnlib.norms.normalize import layer_norm, rms_norm

FIGURE = offset  # of the fixture `file`
LAYERS = [
    offset(seed=seed, units=units, inputs=inputs).state
    for seed, units, inputs in ((0, 5, 3), (1, 3, 2), (2, 7, 5), (3, 4, 4))
]
LANES = ("none", "layer", "rms")
SETTINGS = [
    (k, c, centered)
    for k, c, centered in product(range(len(LAYERS)), (-3.0, -0.7, 0.0, 0.1, 3.0, 1e3), (False, True))
]


def expected(layer: dict[str, Any], c: float, centered: bool = False) -> dict[str, np.ndarray]:
    """What lnlib makes of the shifted weights."""
    W, x = (torch.tensor(layer[name], dtype=torch.float64) for name in ("W", "x"))
    a = shifted_weights(W, x, c, centered) @ x
    outputs = {"none": a, "layer": layer_norm(a, eps=0.0), "rms": rms_norm(a, eps=0.0)}
    return {lane: out.numpy() for lane, out in outputs.items()}


def angle(u: np.ndarray, v: np.ndarray) -> float:
    """In degrees, by the definition: good to the root of the rounding."""
    return float(np.degrees(np.arccos(np.clip(u @ v / np.linalg.norm(u) / np.linalg.norm(v), -1, 1))))


# ------------------------------------------------------------------------------------------- arithmetic


@pytest.fixture(scope="module")
def measured() -> list[tuple[int, float, bool, dict[str, Any]]]:
    """Every layer and setting with what the script makes of it."""
    cases = [{"k": k, "state": {"c": c, "centered": centered}} for k, c, centered in SETTINGS]
    run = f"{json.dumps(cases)}.map(({{ k, state }}) => measure(given[k], state))"
    results = evaluate("offset", f"((given) => {run})({json.dumps(LAYERS)})")
    return [(*setting, result) for setting, result in zip(SETTINGS, results, strict=True)]


def test_the_script_normalizes_as_lnlib_does(measured):
    for k, c, centered, result in measured:
        want = expected(LAYERS[k], c, centered)
        for lane in LANES:
            np.testing.assert_allclose(
                result["now"][lane],
                want[lane],
                # sums of a few products, whose rounding grows with the offset in them
                atol=1e-14 * (1 + abs(c)),
                rtol=1e-13,
                err_msg=f"{k}, {c}, {centered}, {lane}",
            )


def test_the_script_measures_means_lengths_and_angles(measured):
    for k, c, centered, result in measured:
        now, before = expected(LAYERS[k], c, centered), expected(LAYERS[k], 0.0, centered)
        for lane in LANES:
            row, out = result["rows"][lane], now[lane]
            assert row["mean"] == pytest.approx(out.mean(), abs=1e-11)
            assert row["length"] == pytest.approx(np.linalg.norm(out), rel=1e-11)
            # arccos near 1 doubles the digits that are lost
            assert row["apart"] == pytest.approx(angle(out, now["none"]), abs=1e-5)
            assert row["turned"] == pytest.approx(angle(out, before[lane]), abs=1e-5)


def test_layer_norm_removes_the_offset_and_rmsnorm_turns_with_its_input(measured):
    turned = 0
    for _, c, centered, result in measured:
        rows = result["rows"]
        assert rows["layer"]["turned"] < 1e-10  # degrees, by rounding
        assert rows["rms"]["apart"] < 1e-10
        assert abs(rows["rms"]["turned"] - rows["none"]["turned"]) < 1e-10
        if not centered and abs(c) >= 0.7:
            assert rows["rms"]["turned"] > 5
            turned += 1
    assert turned >= 16


def test_centering_the_weights_makes_rmsnorm_layer_norm(measured):
    apart = []
    for _, c, centered, result in measured:
        if centered:
            assert result["difference"] < 1e-12 * (1 + abs(c))
            # and it is the layer norm of the weights that were not centered
            np.testing.assert_allclose(result["now"]["layer"], result["now"]["rms"], atol=1e-11)
        else:
            apart.append(result["difference"])
    assert min(apart) > 1e-3  # the negative control: without centering they differ
    for layer in LAYERS:
        W, x = (torch.tensor(layer[name], dtype=torch.float64) for name in ("W", "x"))
        out = rms_norm(shifted_weights(W, x, 2.0, centered=True) @ x, eps=0.0)
        assert torch.allclose(out, layer_norm(W @ x, eps=0.0), atol=1e-13)


def test_layer_norm_stands_at_an_angle_whose_cosine_is_std_over_root_mean_square(measured):
    for k, c, _, result in measured:
        if not result["rows"]["none"]["mean"]:
            continue
        a = np.array(result["now"]["none"])
        cosine = a.std() / np.sqrt(np.mean(a**2))
        assert np.cos(np.radians(result["rows"]["layer"]["apart"])) == pytest.approx(cosine, abs=1e-11), (
            k,
            c,
        )


def test_a_zero_case_stays_zero():
    layer = json.dumps({"W": [[0, 0], [0, 0], [0, 0]], "x": [1, 2]})
    out = evaluate("offset", f"outputs({layer}, {{ c: 0, centered: false }})")
    assert out == {"none": [0, 0, 0], "layer": [0, 0, 0], "rms": [0, 0, 0]}


# ------------------------------------------------------------------------------------------ the builder


def test_the_drawn_layers_have_a_pattern_and_a_mean():
    for seed, units in product(range(20), (3, 5, 7)):
        layer = offset(seed=seed, units=units).state
        a = expected(layer, 0.0)["none"]
        # two decimals of the weights times up to 5 inputs below 1.5
        assert a.std() == pytest.approx(1.2, abs=0.05)
        assert a.mean() == pytest.approx(0.6, abs=0.05)


def test_the_fallback_table_holds_what_lnlib_computes():
    fallback = offset().fallback
    cells = [
        ", ".join(f"{round(value, 2) + 0.0:.2f}" for value in out).replace("-", "−")
        for out in expected(LAYERS[0], RANGE).values()
    ]
    assert f"<tr><th>c = {RANGE:g}</th>" + "".join(f"<td>{cell}</td>" for cell in cells) in fallback
    *_, layer, rms = fallback.split("<tr>")[-1].split("<td>")
    assert layer.split("<")[0] == rms.split("<")[0]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"units": 2}, "3 to 7 units can be shown, got 2; give more"),
        ({"units": 8}, "3 to 7 units can be shown, got 8; give fewer"),
        ({"inputs": 1}, "2 to 5 inputs can be shown, got 1; give more"),
        ({"inputs": 6}, "2 to 5 inputs can be shown, got 6; give fewer"),
    ],
)
def test_a_size_that_cannot_be_shown_is_refused_with_its_reason(sizes, message):
    with pytest.raises(ValueError, match=message):
        offset(**sizes)


# ------------------------------------------------------------------------------------------- the browser


def check(page: Any, c: float, centered: bool = False) -> None:
    """Every number that is printed, against lnlib."""
    want = expected(LAYERS[0], c, centered)
    for lane in LANES:
        texts = page.locator(f"div.{lane} .bars span").all_inner_texts()
        np.testing.assert_allclose([number(text) for text in texts], want[lane], atol=0.00501, err_msg=lane)
        mean, length, *_ = page.locator(f"tr.{lane} td").all_inner_texts()
        assert number(mean) == pytest.approx(want[lane].mean(), abs=0.00501)
        assert number(length) == pytest.approx(np.linalg.norm(want[lane]), abs=0.0501)
        drawn = page.locator(f"circle.{lane}")
        point = [float(drawn.get_attribute(name)) for name in ("cx", "cy")]
        np.testing.assert_allclose(point, [want[lane].std(), -want[lane].mean()], atol=1e-9)


def number(text: str) -> float:
    return float(text.replace("−", "-").replace("°", ""))


@pytest.mark.browser
def test_the_controls_print_what_lnlib_computes_and_say_it_in_words(chromium, file):
    mean = float(expected(LAYERS[0], 0.0)["none"].mean())
    with chromium.open_page(file) as (page, errors, failed):
        check(page, 2.0)
        assert settled(page).startswith("Layer norm removes the offset, RMSNorm keeps it. Adding 2.0")
        for name, c, words in (
            ("No offset", 0.0, "No offset yet"),
            ("Large offset", RANGE, f"Adding {RANGE:.1f} to every component turns a by"),
            ("Offset that makes the mean 0", -mean, "both normalizations give the same."),
        ):
            page.get_by_role("button", name=name).click()
            check(page, c)
            assert words in settled(page)
        page.get_by_role("checkbox").check()
        check(page, -mean, centered=True)
        page.get_by_role("slider").press("End")
        check(page, RANGE, centered=True)
        assert settled(page).startswith("With centered weights, RMSNorm is layer norm.")
        assert set(page.locator("tr.mean td").all_inner_texts()) == {"0.00"}
        page.get_by_role("button", name="Large offset").click()
        check(page, RANGE)
        assert not page.get_by_role("checkbox").is_checked()
        assert (errors, failed) == ([], [])


@pytest.mark.browser
def test_the_keyboard_reaches_every_control(chromium, file):
    with chromium.open_page(file) as (page, errors, _):
        page.keyboard.press("Tab")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowRight")
        check(page, 0.1 - RANGE)
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        check(page, 0.1 - RANGE, centered=True)
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        check(page, 0.0)
        assert errors == []


@pytest.mark.browser
def test_bars_and_arrows_are_described_in_words(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        labels = page.locator("[role=img]").evaluate_all("all => all.map(part => part.ariaLabel)")
        assert [label.split(":")[0] for label in labels[:3]] == [
            "Summed inputs a",
            "Layer norm of a",
            "RMSNorm of a",
        ]
        assert labels[3].startswith("The plane of std and mean. Summed inputs a at std 1.")

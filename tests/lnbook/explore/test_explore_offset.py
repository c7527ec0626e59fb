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
LAYERS = [offset().state]
for sizes in ((3, 2), (7, 5), (4, 4)):
    rng = np.random.default_rng(sizes)
    LAYERS.append({"W": rng.normal(size=sizes).tolist(), "x": rng.normal(size=sizes[1]).tolist()})
LANES = ("none", "layer", "rms")


def expected(layer: dict[str, Any], c: float, centered: bool = False) -> dict[str, np.ndarray]:
    """What lnlib makes of the shifted weights."""
    W, x = (torch.tensor(layer[name], dtype=torch.float64) for name in ("W", "x"))
    a = shifted_weights(W, x, c, centered) @ x
    outputs = {"none": a, "layer": layer_norm(a, eps=0.0), "rms": rms_norm(a, eps=0.0)}
    return {lane: out.numpy() for lane, out in outputs.items()}


def angle(u: np.ndarray, v: np.ndarray) -> float:
    """In degrees, by the definition: good to the root of the rounding."""
    return float(np.degrees(np.arccos(np.clip(u @ v / np.linalg.norm(u) / np.linalg.norm(v), -1, 1))))


def test_the_script_normalizes_as_lnlib_does_and_measures_means_lengths_and_angles():
    settings = list(product(range(len(LAYERS)), (-3.0, -0.7, 0.0, 0.1, 3.0, 1e3), (False, True)))
    run = f"{json.dumps(settings)}.map(([k, c, centered]) => measure(given[k], {{ c, centered }}))"
    results = evaluate("offset", f"((given) => {run})({json.dumps(LAYERS)})")
    for (k, c, centered), result in zip(settings, results, strict=True):
        now, before = expected(LAYERS[k], c, centered), expected(LAYERS[k], 0.0, centered)
        for lane in LANES:
            row, out = result["rows"][lane], now[lane]
            # sums of a few products, whose rounding grows with the offset in them
            np.testing.assert_allclose(result["now"][lane], out, atol=1e-14 * (1 + abs(c)), rtol=1e-13)
            assert row["mean"] == pytest.approx(out.mean(), abs=1e-11)
            assert row["length"] == pytest.approx(np.linalg.norm(out), rel=1e-11)
            # arccos near 1 doubles the digits that are lost
            assert row["apart"] == pytest.approx(angle(out, now["none"]), abs=1e-5)
            assert row["turned"] == pytest.approx(angle(out, before[lane]), abs=1e-5)
        assert result["rows"]["layer"]["turned"] < 1e-10  # layer norm removes the offset; by rounding
        assert result["rows"]["rms"]["apart"] < 1e-10  # RMSNorm points where its input points
        difference = float(np.abs(now["layer"] - now["rms"]).max())  # none where the weights are centered
        assert result["difference"] == pytest.approx(difference, abs=1e-12 * (1 + abs(c)))
        assert (difference < 1e-12 * (1 + abs(c))) == centered


def test_a_zero_case_stays_zero():
    layer = json.dumps({"W": [[0, 0], [0, 0], [0, 0]], "x": [1, 2]})
    out = evaluate("offset", f"outputs({layer}, {{ c: 0, centered: false }})")
    assert out == {"none": [0, 0, 0], "layer": [0, 0, 0], "rms": [0, 0, 0]}


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
    with chromium.open_page(file) as (page, _, _):
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
        labels = page.locator("[role=img]").evaluate_all("all => all.map(part => part.ariaLabel)")
        heads = [label.split(":")[0] for label in labels[:3]]
        assert heads == ["Summed inputs a", "Layer norm of a", "RMSNorm of a"]
        assert labels[3].startswith("The plane of std and mean. Summed inputs a at std 1.")

"""Residual depth: its arithmetic against lnlib's residual networks, and what a reader meets in a browser."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from explorable import evaluate, settled
from torch import Tensor

from lnbook.explore.residual_depth import PLACEMENTS, residual_depth
from lnbook.pages.beyond_transformers.residual_gradients import exponent, wide_limit
from lnlib.norms.normalize import layer_norm

FIGURE = residual_depth  # of the fixture `file`
DEPTHS = [1, 2, 4, 8, 16, 32, 64]
CASES = 4
# Reading typed arrays as JSON gives objects: lists instead.
PLAIN = "(one) => JSON.parse(JSON.stringify(one, (_, v) => v instanceof Float64Array ? [...v] : v))"


def by_autograd(one: dict[str, Any], placement: str, c: float, depth: int) -> list[float]:
    """The gradients' norms of all blocks of the script's network, in torch with lnlib's layer norm."""
    x, r = (torch.tensor(one[name], dtype=torch.float64) for name in "xr")
    blocks = [[torch.tensor(W, dtype=torch.float64) for W in block] for block in one["blocks"][:depth]]
    seconds = [(c**0.5 * W2).requires_grad_() for _, W2 in blocks]

    def norm(a: Tensor) -> Tensor:
        return layer_norm(a, eps=0.0)

    for (W1, _), W2 in zip(blocks, seconds, strict=True):  # the script keeps W2 transposed
        x = x + ((norm(x) if placement == "pre" else x) @ W1.T).relu() @ W2
        x = norm(x) if placement == "post" else x
    loss = (r * (norm(x) if placement == "pre" else x)).sum() / CASES
    unit = math.sqrt(len(blocks[0][0]) / CASES)
    return [float(g.norm()) / unit for g in torch.autograd.grad(loss, seconds)]


@pytest.mark.parametrize(("width", "depth", "c"), [(4, 6, 1.0), (8, 3, 0.0625), (16, 2, 4.0)])
def test_the_script_computes_the_gradients_that_autograd_computes(width, depth, c):
    runs = f"Object.keys(PLACEMENTS).map((p) => gradients(one, p, {c}, [1, {depth}]))"
    one, found = evaluate(
        "residual_depth", f"((one) => [({PLAIN})(one), {runs}])(network(7, {width}, {depth}))"
    )
    for placement, (single, whole) in zip(PLACEMENTS, found, strict=True):
        np.testing.assert_allclose(single, by_autograd(one, placement, c, 1), rtol=1e-12)
        # rounding, which a block multiplies by the root of 1 + c at most
        np.testing.assert_allclose(whole, by_autograd(one, placement, c, depth), rtol=1e-11)


def test_the_networks_are_drawn_as_they_should_be():
    one = evaluate("residual_depth", f"({PLAIN})(network(3, 16, 20))")
    x, r = np.array(one["x"]), np.array(one["r"])
    np.testing.assert_allclose(x.mean(1), 0, atol=1e-14)
    np.testing.assert_allclose(x.std(1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(r, axis=1), 1, rtol=1e-14)
    W1, W2 = np.array(one["blocks"]).swapaxes(0, 1)
    for W, variance in ((W1, 2 / 16), (W2, 1 / 64)):  # 20480 numbers each: standard errors of 1 % and 0.7 %
        assert W.var() == pytest.approx(variance, rel=0.04)
        assert abs(W.mean()) < 0.03 * variance**0.5
        assert np.mean((W / variance**0.5) ** 4) == pytest.approx(3, rel=0.1)  # a normal distribution's
    assert len(np.unique(W1)) == W1.size


def test_the_limits_are_lnlibs():
    cases = [
        (p, c, L, block)
        for p in PLACEMENTS
        for c in (0.0625, 1.0, 4.0)
        for L in (1, 8, 64)
        for block in {1, L}
    ]
    found = evaluate("residual_depth", f"{[list(case) for case in cases]}.map((given) => limit(...given))")
    for (placement, c, L, block), value in zip(cases, found, strict=True):
        want = wide_limit(placement, L, block, 16, branch=c) / wide_limit("none", 1, 1, 16)
        assert value == pytest.approx(want, rel=1e-14)


def test_a_power_law_is_fitted_as_lnlib_fits_it():
    norms = np.random.default_rng(0).uniform(0.1, 1, (4, 5))
    found = evaluate("residual_depth", f"{norms.tolist()}.map((v) => power({DEPTHS[2:]}, v))")
    np.testing.assert_allclose(found, exponent(DEPTHS[2:], norms), rtol=1e-12)


def drawn(page: Any, plot: int, placement: str) -> np.ndarray:
    """Points (percent, value) of a measured line."""
    path = page.locator(".plot").nth(plot).locator(f"path.{placement}:not(.limit)").get_attribute("d")
    points = np.array([[float(v) for v in point.split(" ")] for point in path[1:].split("L")])
    return np.stack([points[:, 0], 10 ** (1 - 3 * points[:, 1] / 100)], 1)


@pytest.mark.browser
def test_the_lines_and_the_words_are_what_the_script_computes(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        labels = page.locator(".plot").evaluate_all("all => all.map(plot => plot.ariaLabel)")
        assert labels[0].startswith("Gradient of the last block, depth 1 to 64: pre-LN from 0.")
        assert labels[1].startswith("Gradient of block 1 to 64: pre-LN from 0.")
        for draw, c, seeds in ((0, 1, [0, 1, 2]), (1, 0.5, [3, 4, 5])):
            if draw:
                page.get_by_role("button", name="Draw again").click()
                page.get_by_role("slider").last.press("ArrowLeft")
            nets = f"{seeds}.map((seed) => network(seed, 16))"
            profiles = evaluate("residual_depth", f"measure({nets}, {c})", chromium)
            for block, index in (("last", -1), ("first", 0)):
                page.get_by_role("radio", name=block).check()
                for placement in ("pre", "post"):
                    want = [profile[index] for profile in profiles[placement]]
                    np.testing.assert_allclose(drawn(page, 0, placement)[:, 1], want, rtol=1e-6)
                    along = drawn(page, 1, placement)[:, 1]
                    np.testing.assert_allclose(along, profiles[placement][-1], rtol=1e-6)
                text = settled(page)
                shown = re.match(r"Depth 64, (\w+) block: pre-LN ([\d.]+), post-LN ([\d.]+)", text)
                assert shown[1] == block
                for k, placement in enumerate(("pre", "post"), start=2):
                    assert float(shown[k]) == pytest.approx(profiles[placement][-1][index], abs=0.0051)
                values = np.array([[profile[index] for profile in profiles["pre"][2:]]])
                slope = f"{exponent(DEPTHS[2:], values)[0]:.2f}".replace("-", "−")
                assert f"From depth 4 to 64, pre-LN's goes with the power {slope} (" in text
        page.get_by_role("slider").last.press("Home")
        assert page.get_by_role("slider").last.get_attribute("aria-valuetext") == "1/16"
        page.get_by_role("slider").first.press("Home")
        assert "Add blocks to see a law." in settled(page)
        assert len(drawn(page, 1, "pre")) == 1

"""The Fisher ellipse: its arithmetic against lnlib's Fisher matrix and divergence, and a reader's browser."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from explorable import evaluate, settled
from torch import Tensor

from lnbook.explore.fisher_ellipse import DEGREES, MODELS, OUTPUTS, START, fisher_ellipse, metric, model
from lnlib.fisher import kl

FIGURE = fisher_ellipse  # of the fixture `file`
STATES = [fisher_ellipse(seed=seed).state for seed in range(3)]
STATES[1] |= {"X": STATES[1]["X"][:3], "units": STATES[1]["units"][:3]}
STATES[2] |= {"X": [[1.5, 0.2], [-1.0, 2.0], [0.3, -2.5], [4.0, 4.0]]}
HOMOGENEOUS = ("batch", "weight", "layer")  # models that do not see the length of w


@dataclass(frozen=True)
class Case:
    """A state of the figure, and where its controls stand."""

    index: int
    norm: str
    family: str
    length: float
    degrees: float
    c: float = 0.05

    @property
    def first(self) -> Tensor:
        angle = math.radians(self.degrees)
        return torch.tensor([math.cos(angle), math.sin(angle)], dtype=torch.float64)

    def metric(self) -> Tensor:
        return metric(STATES[self.index], self.norm, self.family, self.length, self.degrees)

    def divergence(self, w: Tensor) -> float:
        state = STATES[self.index]
        here, X = model(state, self.norm, self.family, self.first, self.length * self.first)
        return float(kl(here, model(state, self.norm, self.family, self.first, w)[0], X))


PLACES = [(0, 1.0, 90, 0.05), (0, 3.0, 135, 0.1), (1, 2.0, 0, 0.01), (2, 0.5, 160, 0.05)]
CASES = [
    Case(index, norm, family, length, degrees, c)
    for (index, length, degrees, c), norm, family in product(PLACES, MODELS, OUTPUTS)
]


def run(expression: str) -> list[Any]:
    """A JavaScript expression of given, setting, first and w, for every case."""
    cases = []
    for case in CASES:
        setting = {"norm": case.norm, "family": case.family, "c": case.c}
        cases.append((case.index, setting, case.first.tolist(), (case.length * case.first).tolist()))
    each = f"([k, setting, first, w]) => {{ const given = all[k]; return {expression} }}"
    return evaluate("fisher_ellipse", f"((all) => {json.dumps(cases)}.map({each}))({json.dumps(STATES)})")


def test_the_script_computes_lnlibs_fisher_matrix():
    for case, found in zip(CASES, run("metric(given, setting, first, w)"), strict=True):
        want = case.metric()
        entries = [want[0, 0], want[0, 1], want[1, 1]]
        # rounding, of the largest entry
        np.testing.assert_allclose(found, entries, rtol=0, atol=1e-12 * float(want.abs().max()), err_msg=case)


def test_the_script_computes_lnlibs_divergence():
    others = [[0.7, -1.1], [-2.0, 0.4], [3.0, 3.0]]
    found = run(f"{json.dumps(others)}.map(divergence(given, setting, first, w))")
    for case, values in zip(CASES, found, strict=True):
        want = [case.divergence(torch.tensor(w, dtype=torch.float64)) for w in others]
        # the logarithms of a Bernoulli divergence cancel; lnlib's do not
        np.testing.assert_allclose(values, want, rtol=1e-10, atol=1e-13, err_msg=str(case))


def test_the_ball_ends_where_the_divergence_reaches_c():
    compared = 0
    for case, rim in zip(CASES, run("ball(given, setting, first, w)"), strict=True):
        w, opposite = case.length * case.first, len(rim) // 2
        for k in range(0, len(rim), 20):
            x, y, ends = rim[k]
            if k == opposite and case.norm in HOMOGENEOUS:  # the ray through 0, where the prediction jumps
                continue
            point = torch.tensor([x, y], dtype=torch.float64)
            if ends:
                # found by halving, to 1e-10 of the distance
                assert case.divergence(point) == pytest.approx(case.c, rel=1e-6), (case, k)
                inner = w + 0.9 * (point - w)
                assert case.divergence(inner) < case.c
                compared += 1
            else:
                assert float((point - w).norm()) == pytest.approx(9)
                assert case.divergence(point) <= case.c
    assert compared > 200


def test_the_ellipse_is_where_half_the_quadratic_form_is_c():
    rims = run("ellipse(metric(given, setting, first, w), setting.c, w)")
    for case, rim in zip(CASES, rims, strict=True):
        step = torch.tensor(rim, dtype=torch.float64) - case.length * case.first
        basis = torch.stack([case.first, torch.stack([-case.first[1], case.first[0]])])
        local = step @ basis.T
        form = (local @ case.metric() * local).sum(1) / 2
        np.testing.assert_allclose(form.numpy(), case.c, rtol=1e-9, err_msg=str(case))
        assert len(rim) == (4 if case.norm in HOMOGENEOUS else 160)  # four corners: a strip


def places(path: str) -> np.ndarray:
    """The points of a drawn path."""
    return np.array([[float(v) for v in point.split(" ")] for point in path.strip("MZ").split("L")])


def check_drawn(page: Any, norm: str, family: str, length: float, degrees: float) -> None:
    """The strip or ellipse, and the metric's fall, against lnlib; in percent of the plots."""
    case = Case(0, norm, family, length, degrees)
    form = case.metric()
    rim = places(page.locator("path.now").first.get_attribute("d"))
    w = (length * case.first).numpy()
    step = np.stack([-3.6 + 7.2 * rim[:, 0] / 100, 3.6 - 4.5 * rim[:, 1] / 100], 1) - w
    across = np.abs(step @ np.array([-case.first[1], case.first[0]])).max()
    inverse = 1 / form[1, 1] if norm in HOMOGENEOUS else torch.linalg.inv(form)[1, 1]
    assert across == pytest.approx(float((2 * START["c"] * inverse) ** 0.5), rel=2e-3)
    curve = {"none": "none", "row": "row"}.get(norm, "law")
    points = places(page.locator(f".plot path.{curve}").get_attribute("d"))
    for at in (0, 15, 25):
        r = 0.5 + 0.1 * at
        here, unit = (Case(0, norm, family, length, degrees).metric()[1, 1] for length in (r, 1.0))
        ratio = here / unit
        assert points[at, 1] == pytest.approx(100 * (2.2 - math.log2(float(ratio))) / 5.8, abs=0.01)


@pytest.mark.browser
def test_every_model_draws_and_says_what_lnlib_computes(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        for norm, (name, _) in MODELS.items():
            page.get_by_role("radio", name=name).check()
            for family, outputs in OUTPUTS.items():
                page.get_by_role("radio", name=outputs).check()
                check_drawn(page, norm, family, START["length"], DEGREES)
                one, two = (Case(0, norm, family, r, DEGREES).metric() for r in (1.0, 2.0))
                text = settled(page)
                along = "0" if norm in HOMOGENEOUS else f"×{float(two[0, 0] / one[0, 0]):.2f}"
                ratio = float(two[1, 1] / one[1, 1])
                assert f"|w| = 2: the metric is ×{ratio:.2f} across w, {along} along it." in text
                assert ("the Fisher ellipse is open, a strip" in text) == (norm in HOMOGENEOUS)
                assert f"Across w it is {one[1, 1]:.3f} at |w| = 1 and here {two[1, 1]:.3f}." in text


@pytest.mark.browser
def test_a_tap_puts_the_weights_where_it_is(chromium, file):
    with chromium.open_page(file, has_touch=True) as (page, _, _):
        plot = page.locator(".plane .plot")
        box = plot.bounding_box()
        at = {"x": box["width"] * (3.6 - 1.45) / 7.2, "y": box["height"] * (3.6 - 1.45) / 4.5}
        plot.tap(position=at)
        assert page.locator(".range b").all_inner_texts()[:2] == ["2.05", "135"]  # 1.45 times the root of 2
        assert "|w| = 2.05: the metric is ×0.24" in settled(page)
        plot.tap(position={"x": box["width"] / 2, "y": box["height"] - 4})  # below 0: no such direction
        assert page.locator(".range b").all_inner_texts()[0] == "0.85"
        plane, fall = page.locator(".plot").evaluate_all("all => all.map(plot => plot.ariaLabel)")
        assert plane.startswith("Plane of weights, w at ")
        assert "reaches outward without end" in plane
        assert fall.startswith("Metric across w at length 3, over that at length 1: no norm 1.00")
        assert fall.endswith("the others, 1/|w|² 0.11")

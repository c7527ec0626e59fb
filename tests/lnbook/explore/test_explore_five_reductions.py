"""The five reductions: the figure's arithmetic and words against lnlib, and what a reader meets."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import numpy as np
import pytest
import torch
from explorable import TOO_WIDE, evaluate, said
from torch import nn

from lnbook.explore.five_reductions import five_reductions
from lnbook.pages.beyond_convolution.reductions import FIVE, axes, means, normalize

FIGURE = five_reductions  # of the fixture `file`
EPS = 1e-5
LAYOUTS = ("NCHW", "NHWC", "NTC")
GIVEN = np.array(five_reductions().state["a"])  # (3, 4, 2, 2)
TITLES = {
    "batch": "Batch norm",
    "layer": "Layer norm over C, H, W",
    "instance": "Instance norm",
    "group": "Group norm",
    "channels": "Layer norm over C",
}


def expected(a: np.ndarray, norm: str, groups: int = 2, eps: float = EPS) -> np.ndarray:
    return normalize(torch.from_numpy(a.copy()), norm, groups=groups, eps=eps).numpy()


def in_layout(a: np.ndarray, layout: str) -> np.ndarray:
    """The tensor (N, C, H, W) in the order that the figure's table has."""
    if layout == "NTC":
        return a.reshape(*a.shape[:2], -1).swapaxes(1, 2)
    return a.transpose(["NCHW".index(axis) for axis in layout])


# ------------------------------------------------------------------------------------------- arithmetic


def tensors() -> dict[str, tuple[np.ndarray, int]]:
    """Tensors and groups that the figure must normalize as lnlib does."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(3, 4, 2, 2))
    return {
        "normal": (normal, 2),
        "one group": (normal, 1),
        "as many groups as channels": (normal, 4),
        "one case": (normal[:1], 2),
        "one channel": (normal[:, :1], 1),
        "one position": (normal[..., :1, :1], 2),
        "three by three": (rng.normal(size=(2, 4, 3, 3)), 2),
        "equal numbers": (np.full((2, 2, 1, 2), 0.1), 1),
        "mean 1e6": (normal + 1e6, 2),
        "huge": (normal * 1e300, 2),
        "tiny": (normal * 1e-200, 2),
    }


@pytest.mark.parametrize("eps", [EPS, 0.0])
def test_the_script_reduces_as_lnlib_does(eps):
    cases = [(a, groups, norm) for a, groups in tensors().values() for norm in FIVE]
    given = [{"given": {"a": a.tolist(), "groups": g, "eps": eps}, "norm": n} for a, g, n in cases]
    results = evaluate(
        "five_reductions",
        f"{json.dumps(given)}.map(({{given, norm}}) => Object.values(reduce(given, norm, given.a.length)))",
    )
    for (a, groups, norm), sets in zip(cases, results, strict=True):
        out = np.full(a.shape, np.nan)
        for part in sets:
            places = tuple(np.array(part["cells"]).T)
            out[places] = part["out"]
            unit = float(np.abs(a[places]).max())  # so that no square leaves the range
            if unit < 1e-100 < eps:  # beside such an eps the figure takes squares of these for 0
                continue
            np.testing.assert_allclose(part["mean"] / unit, (a[places] / unit).mean(), atol=1e-14)
            np.testing.assert_allclose(part["std"] / unit, (a[places] / unit).std(), atol=1e-14)
        np.testing.assert_allclose(out, expected(a, norm, groups, eps), rtol=1e-12, atol=1e-12)
        assert len(sets) == means(norm, a.shape, "NCHW", groups)


def test_the_first_cases_alone_are_a_smaller_batch():
    for size in (1, 2):
        given = {"a": GIVEN.tolist(), "groups": 2, "eps": EPS}
        sets = evaluate("five_reductions", f"Object.values(reduce({json.dumps(given)}, 'batch', {size}))")
        assert len(sets) == 4
        for part in sets:
            places = tuple(np.array(part["cells"]).T)
            np.testing.assert_allclose(part["out"], expected(GIVEN[:size], "batch")[places], atol=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("norm", FIVE)
def test_the_words_name_torchs_axes_and_a_layer_that_computes_the_same(norm, layout):
    words = evaluate("five_reductions", f"recipe('{norm}', '{layout}', [4, 2, 2], 2)")
    a = torch.from_numpy(in_layout(GIVEN, layout).copy())
    if norm == "group":
        where, within = re.fullmatch(r"a\.unflatten\((\d), \(2, 2\)\)\.mean\((.*)\)", words["mean"]).groups()
        counted = a.unflatten(int(where), (2, 2)).mean(ast.literal_eval(within)).numel()
    else:
        within = ast.literal_eval(re.fullmatch(r"a\.mean\((.*)\)", words["mean"])[1])
        assert within == axes(FIVE[norm].over, layout)
        counted = a.mean(within).numel()
    assert counted == means(norm, a.shape, layout, 2)
    layers = {
        **{f"BatchNorm{k}d(4)": kind(4) for k, kind in ((1, nn.BatchNorm1d), (2, nn.BatchNorm2d))},
        "InstanceNorm1d(4, affine=True)": nn.InstanceNorm1d(4, affine=True),
        "InstanceNorm2d(4, affine=True)": nn.InstanceNorm2d(4, affine=True),
        "GroupNorm(1, 4)": nn.GroupNorm(1, 4),
        "GroupNorm(2, 4)": nn.GroupNorm(2, 4),
        "LayerNorm(4)": nn.LayerNorm(4),
    }
    order = {
        "a": lambda x: x,
        "a.permute(0, 2, 3, 1)": lambda x: x.permute(0, 2, 3, 1),
        "a.permute(0, 3, 1, 2)": lambda x: x.permute(0, 3, 1, 2),
        "a.transpose(1, 2)": lambda x: x.transpose(1, 2),
    }[words["way"]]
    layer = layers[words["layer"]].double()
    assert layer.get_parameter("weight").numel() == 4
    with torch.no_grad():
        out = layer(order(a))
    torch.testing.assert_close(out, order(normalize(a, norm, layout)), rtol=0, atol=1e-12)
    trailing = nn.LayerNorm(ast.literal_eval(words["trailing"][len("LayerNorm(") : -1])).double()
    torch.testing.assert_close(trailing(a), normalize(a, "layer", layout), rtol=0, atol=1e-12)
    assert trailing.weight.numel() == 16


# ------------------------------------------------------------------------------------------ the builder


def test_the_fallback_tells_each_normalizations_means_and_first_number():
    fallback = five_reductions().fallback
    for norm, (title, _) in FIVE.items():
        count, first = means(norm, GIVEN.shape, "NCHW", 2), expected(GIVEN, norm)[0, 0, 0, 0]
        row = re.search(rf"<tr><th>{title}(?: \(2 groups\))?</th>(.*?)</tr>", fallback)[1]
        assert row.endswith(f"<td>{count}</td><td>{48 // count}</td><td>{first + 0.0:.2f}</td>")


# ------------------------------------------------------------------------------------------- the browser


def choose(page: Any, *labels: str) -> None:
    for label in labels:
        page.get_by_text(label, exact=True).click()


def numbers(page: Any) -> list[float]:
    return [float(t.replace("−", "-")) for t in page.locator("[role=gridcell]").all_inner_texts()]


def marked(page: Any) -> np.ndarray:
    """Which cells of the table carry the mark of the set."""
    return np.array(
        page.locator("[role=gridcell]").evaluate_all("all => all.map(e => e.classList.contains('in'))")
    )


@pytest.mark.browser
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_table_holds_the_tensor_in_memory_order_and_marks_the_set(chromium, file, layout):
    with chromium.open_page(file) as (page, errors, failed):
        choose(page, layout)
        place = (1, 2, 1, 0)  # case, channel, row, column
        flags = np.zeros(GIVEN.shape, dtype=bool)
        flags[place] = True
        page.locator("[role=gridcell]").nth(int(np.argmax(in_layout(flags, layout)))).click()
        np.testing.assert_allclose(numbers(page), in_layout(GIVEN, layout).ravel())
        inside = {
            "batch": np.s_[:, 2],
            "layer": np.s_[1],
            "instance": np.s_[1, 2],
            "group": np.s_[1, 2:],
            "channels": np.s_[1, :, 1, 0],
        }
        for norm, part in inside.items():
            choose(page, TITLES[norm])
            members = np.zeros(GIVEN.shape, dtype=bool)
            members[part] = True
            assert (marked(page) == in_layout(members, layout).ravel()).all()
            assert page.locator(".cube .in").count() == members.sum() - 1
            assert page.locator(".cube .own").count() == 1
            text = said(page).replace("−", "-")
            assert f"{members.sum()} numbers share a mean" in text
            told = re.search(r"mean (\S+), std (\S+)\. The selected \S+ becomes (\S+)\.\n", text).groups()
            true = [GIVEN[part].mean(), GIVEN[part].std(), expected(GIVEN, norm)[place]]
            np.testing.assert_allclose([float(t) for t in told], true, atol=0.0050001)
            assert f"gives {means(norm, GIVEN.shape, 'NCHW', 2)} means" in text
            page.get_by_role("checkbox").check()
            out = in_layout(expected(GIVEN, norm), layout).ravel()
            np.testing.assert_allclose(numbers(page), out, atol=0.0500001)
            page.get_by_role("checkbox").uncheck()
        assert (errors, failed) == ([], [])


@pytest.mark.browser
def test_the_keyboard_reaches_every_control_and_every_number(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")
        assert page.get_by_role("radio", name="Group norm").is_checked()
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowRight")
        assert page.get_by_role("radio", name="NHWC").is_checked()
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowLeft")
        assert "2 cases" in page.locator(".range").inner_text()
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert page.get_by_role("checkbox").is_checked()
        page.keyboard.press("Tab")
        label = "e => e.getRootNode().activeElement.getAttribute('aria-label')"
        live = page.get_by_role("status")
        assert live.evaluate(label).startswith("case 1, channel 2, row 1, column 1:")
        page.keyboard.press("ArrowRight")
        assert live.evaluate(label).startswith("case 1, channel 3, row 1, column 1:")
        for _ in range(9):  # stays inside
            page.keyboard.press("ArrowDown")
            page.keyboard.press("ArrowRight")
        assert live.evaluate(label).startswith("case 2, channel 4, row 2, column 2:")
        assert page.locator('[role=gridcell][tabindex="0"]').count() == 1


@pytest.mark.browser
def test_one_case_makes_batch_norm_instance_norm_and_the_page_says_so(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        page.get_by_role("checkbox").check()
        page.get_by_role("slider").press("Home")
        before, alone = marked(page), numbers(page)
        choose(page, "Batch norm")
        assert "With one case, that is instance norm." in said(page)
        assert (marked(page) == before).all()
        assert numbers(page) == alone
        page.get_by_role("slider").press("End")
        assert "With one case" not in said(page)
        assert marked(page).sum() == 12


@pytest.mark.browser
def test_a_case_that_leaves_the_batch_takes_the_selection_to_the_last_one(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        page.locator("[role=gridcell]").last.click()
        assert "Channel 4 of case 3" in said(page)
        page.get_by_role("slider").press("Home")
        assert "Channel 4 of case 1" in said(page)
        assert page.locator("[role=gridcell]").count() == 16


@pytest.mark.browser
def test_on_a_phone_every_number_fits_its_cell_in_every_layout(chromium, tmp_path):
    for a in (None, np.random.default_rng(0).normal(size=(4, 4, 3, 3))):
        file = tmp_path / "phone.html"
        file.write_text(five_reductions(a).to_html(), encoding="utf-8")
        with chromium.open_page(file, width=390, height=844, has_touch=True) as (page, _, _):
            for layout in LAYOUTS:
                choose(page, layout)
                assert page.locator("[role=gridcell]").evaluate_all(TOO_WIDE) == []

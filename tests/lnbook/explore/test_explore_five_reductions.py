"""The five reductions: the figure's arithmetic and words against lnlib, and what a reader meets."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

import numpy as np
import pytest
import torch
from explorable import evaluate, said
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


def computed(text: str, **given: Any) -> Any:
    """The value of calls of methods of what is given, with literal arguments; nothing else runs."""

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Call):
            options = {str(k.arg): value(k.value) for k in node.keywords}
            return value(node.func)(*map(value, node.args), **options)
        if isinstance(node, ast.Attribute):
            return getattr(value(node.value), node.attr)
        return given[node.id] if isinstance(node, ast.Name) else ast.literal_eval(node)

    return value(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("norm", FIVE)
def test_the_words_name_torchs_axes_and_a_layer_that_computes_the_same(norm, layout):
    words = evaluate("five_reductions", f"recipe('{norm}', '{layout}', [4, 2, 2], 2)")
    a = torch.from_numpy(in_layout(GIVEN, layout).copy())
    mean = computed(words["mean"], a=a)
    assert mean.numel() == means(norm, a.shape, layout, 2)
    if norm != "group":
        assert words["mean"] == f"a.mean({axes(FIVE[norm].over, layout)})"
    layer, trailing = (computed(f"nn.{words[name]}", nn=nn).double() for name in ("layer", "trailing"))
    assert layer.weight.numel() == 4
    with torch.no_grad():
        out = layer(computed(words["way"], a=a))
    want = computed(words["way"], a=normalize(a, norm, layout))
    torch.testing.assert_close(out, want, rtol=0, atol=1e-12)
    torch.testing.assert_close(trailing(a), normalize(a, "layer", layout), rtol=0, atol=1e-12)
    assert trailing.weight.numel() == 16


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
    with chromium.open_page(file) as (page, _, _):
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


@pytest.mark.browser
def test_the_arrows_move_the_selection_inside_the_table(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        choose(page, "NHWC")
        page.get_by_role("slider").press("ArrowLeft")
        page.locator('[role=gridcell][tabindex="0"]').focus()
        label = "e => e.getRootNode().activeElement.getAttribute('aria-label')"
        live = page.get_by_role("status")
        assert live.evaluate(label).startswith("case 1, channel 2, row 1, column 1:")
        page.keyboard.press("ArrowRight")
        assert live.evaluate(label).startswith("case 1, channel 3, row 1, column 1:")
        for _ in range(9):
            page.keyboard.press("ArrowDown")
            page.keyboard.press("ArrowRight")
        assert live.evaluate(label).startswith("case 2, channel 4, row 2, column 2:")


@pytest.mark.browser
def test_one_case_makes_batch_norm_instance_norm_and_the_page_says_so(chromium, file):
    with chromium.open_page(file) as (page, _, _):
        page.get_by_role("checkbox").check()
        page.locator("[role=gridcell]").last.click()
        assert "Channel 4 of case 3" in said(page)
        page.get_by_role("slider").press("Home")
        assert "Channel 4 of case 1" in said(page)  # the selection stays in the batch
        before, alone = marked(page), numbers(page)
        choose(page, "Batch norm")
        assert "With one case, that is instance norm." in said(page)
        assert (marked(page) == before).all()
        assert numbers(page) == alone
        page.get_by_role("slider").press("End")
        assert "With one case" not in said(page)
        assert marked(page).sum() == 12

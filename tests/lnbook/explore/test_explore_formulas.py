"""The arithmetic of the figures' scripts, run on its own, against lnlib."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import asdict, replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from explorable import evaluate
from torch import nn

from lnbook.explore import fisher_ellipse as ellipse
from lnbook.explore import recurrent_drift as drift
from lnbook.explore.five_reductions import five_reductions
from lnbook.explore.invariance_playground import START, invariance_playground
from lnbook.explore.offset import offset
from lnbook.explore.projection import passed, projection
from lnbook.explore.residual_depth import PLACEMENTS
from lnbook.explore.strokes import strokes
from lnbook.explore.writing import writing
from lnbook.pages.beyond_transformers.residual_gradients import exponent, output
from lnbook.pages.sec4_related_work.reductions import FIVE, axes, means, normalize
from lnlib.fisher import kl
from lnlib.invariance import measure, normalized, paper_columns, statistics, summed_inputs, table1
from lnlib.norms.normalize import layer_norm, rms_norm

rng = np.random.default_rng(0)
NORMAL = rng.normal(size=(6, 8))


def each(figure: str, cases: list[Any], function: str) -> list[Any]:
    """What a function of a figure's script returns for each case."""
    given = json.dumps(cases, default=lambda values: values.tolist())
    return evaluate(figure, f"{given}.map({function})")


@pytest.mark.parametrize("eps", [0.0, 1e-5])
def test_all_figures_standardize_as_lnlib_does(eps):
    rows = [*NORMAL, *(NORMAL + 1e6), NORMAL[1] * 1e-200, NORMAL[2] * 10.0 ** np.arange(8)]
    if eps == 0:  # beside another, lnlib's squares overflow as torch's do
        rows.append(NORMAL[0] * 1e300)
    equal = [np.full(8, 0.1), np.array([1 / 3]), np.zeros(3)]
    for a, found in zip(
        [*rows, *equal], each("axis_flip", [*rows, *equal], f"(a) => standardize(a, {eps})"), strict=True
    ):
        out, unit = layer_norm(torch.from_numpy(a), eps=eps), max(1e-300, float(np.abs(a).max()))
        np.testing.assert_allclose(found["out"], out, rtol=1e-12, atol=1e-12)
        assert len(set(a)) > 1 or not any(found["out"])  # equal values become exactly 0
        if not unit < 1e-100 < eps:  # beside such an eps the squares of these are taken for 0
            np.testing.assert_allclose(found["mean"] / unit, (a / unit).mean(), atol=1e-14)
            np.testing.assert_allclose(found["std"] / unit, (a / unit).std(), atol=1e-14)


PLACES = [(0, 3.0, 135, 0.1), (1, 0.5, 160, 0.05)]


def test_the_fisher_ellipse_has_lnlibs_metric_divergence_ball_and_rim():
    states = [ellipse.fisher_ellipse(seed=seed).state for seed in range(2)]
    others = [[0.7, -1.1], [-2.0, 0.4], [3.0, 3.0]]
    cases = []
    for (k, length, degrees, c), norm, family in product(PLACES, ellipse.MODELS, ellipse.OUTPUTS):
        angle = math.radians(degrees)
        first = torch.tensor([math.cos(angle), math.sin(angle)], dtype=torch.float64)
        cases.append((states[k], {"norm": norm, "family": family, "c": c}, first, length * first, degrees))
    run = f"""([given, setting, first, w]) => {{
        const form = metric(given, setting, first, w);
        return {{ form, apart: {others}.map(divergence(given, setting, first, w)),
          ball: ball(given, setting, first, w), rim: ellipse(form, setting.c, w) }}; }}"""
    compared = 0
    for (state, setting, first, w, degrees), found in zip(
        cases, each("fisher_ellipse", cases, run), strict=True
    ):
        norm, family, c = setting.values()
        form = ellipse.metric(state, norm, family, float(w.norm()), degrees)
        entries = [form[0, 0], form[0, 1], form[1, 1]]
        np.testing.assert_allclose(found["form"], entries, rtol=0, atol=1e-12 * float(form.abs().max()))
        here, X = ellipse.model(state, norm, family, first, w)

        def divergence(v: Any) -> float:
            there = ellipse.model(state, norm, family, first, torch.as_tensor(v, dtype=w.dtype))  # noqa: B023
            return float(kl(here, there[0], X))  # noqa: B023

        # the logarithms of a Bernoulli divergence cancel; lnlib's do not
        np.testing.assert_allclose(found["apart"], list(map(divergence, others)), rtol=1e-10, atol=1e-13)
        for x, y, ends in found["ball"][5:80:25]:  # none toward 0, where a prediction jumps
            if ends:  # found by halving, to 1e-10 of the distance
                assert divergence([x, y]) == pytest.approx(c, rel=1e-6)
                compared += 1
            else:
                assert divergence([x, y]) <= c
        step = torch.tensor(found["rim"], dtype=torch.float64) - w
        local = step @ torch.stack([first, torch.stack([-first[1], first[0]])]).T
        np.testing.assert_allclose((local @ form * local).sum(1) / 2, c, rtol=1e-9)
        assert len(step) == (160 if norm in ("none", "row") else 4)  # four corners: a strip
    assert compared > 25


@pytest.mark.parametrize("norm", FIVE)
def test_the_five_reductions_part_a_tensor_as_lnlib_does(norm):
    normal = rng.normal(size=(3, 4, 2, 2))
    cases = [(normal, 2), (normal, 1), (normal, 4), (normal[:1], 2), (normal[..., :1, :1], 2)]
    run = f"([a, groups]) => Object.values(reduce({{ a, groups, eps: 1e-5 }}, '{norm}', a.length))"
    for (a, groups), sets in zip(cases, each("five_reductions", cases, run), strict=True):
        out = np.full(a.shape, np.nan)
        for part in sets:
            out[tuple(np.array(part["cells"]).T)] = part["out"]
        want = normalize(torch.from_numpy(a.copy()), norm, groups=groups, eps=1e-5)
        np.testing.assert_allclose(out, want, rtol=1e-12, atol=1e-12)
        assert len(sets) == means(norm, a.shape, groups)


LAYERS = {
    "BatchNorm2d(4)": nn.BatchNorm2d(4),
    "GroupNorm(1, 4)": nn.GroupNorm(1, 4),
    "InstanceNorm2d(4, affine=True)": nn.InstanceNorm2d(4, affine=True),
    "GroupNorm(2, 4)": nn.GroupNorm(2, 4),
    "LayerNorm(4)": nn.LayerNorm(4),
    "BatchNorm1d(4)": nn.BatchNorm1d(4),
    "InstanceNorm1d(4, affine=True)": nn.InstanceNorm1d(4, affine=True),
}
WAYS = {
    "a": lambda a: a,
    "a.permute(0, 2, 3, 1)": lambda a: a.permute(0, 2, 3, 1),
    "a.permute(0, 3, 1, 2)": lambda a: a.permute(0, 3, 1, 2),
    "a.transpose(1, 2)": lambda a: a.transpose(1, 2),
}


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NTC"])
@pytest.mark.parametrize("norm", FIVE)
def test_the_words_name_torchs_axes_and_a_layer_that_computes_the_same(norm, layout):
    words = evaluate("five_reductions", f"recipe('{norm}', '{layout}', [4, 2, 2], 2)")
    a = torch.tensor(five_reductions().state["a"], dtype=torch.float64)  # (3, 4, 2, 2)
    a = a.flatten(2).mT if layout == "NTC" else a.permute(["NCHW".index(axis) for axis in layout])
    if norm != "group":
        assert words["mean"] == f"a.mean({axes(FIVE[norm][1], layout)})"
    layer, way = LAYERS[words["layer"]].double(), WAYS[words["way"]]
    with torch.no_grad():
        torch.testing.assert_close(layer(way(a)), way(normalize(a, norm, layout)), rtol=0, atol=1e-12)
    assert words["trailing"] == f"LayerNorm({list(a.shape[1:])})"


KINDS = {"invariant": "same", "equivariant": "flipped", "nearly": "nearly", "no": "changed"}
SETTINGS = [
    (START, 0.0, False),
    (START, 0.0, True),
    ((-2.0, 1.0, -2.0, -2.0, 1.0, -2.0), 0.0, False),
    ((0.05, 1.0, 0.05, 0.05, 1.0, 0.05), 1e-3, False),
    ((1.0, 0.0, 1.0, 1.0, 0.0, 1.0), 1e-5, True),
    ((3.0, -3.0, -3.0, 3.0, -3.0, -3.0), 1e-8, False),
    ((0.5, 0.5, 1.5, -0.5, 0.5, 1.5), 0.1, True),
]


def test_the_playgrounds_outputs_and_verdicts_are_those_of_lnlib():
    seen = dict.fromkeys(KINDS.values(), 0)
    states = [invariance_playground(seed=seed).state for seed in range(2)]
    cases = [
        (state, {"sizes": sizes, "eps": eps, "frozen": frozen})
        for state, (sizes, eps, frozen) in product(states, SETTINGS)
    ]
    results = each("invariance_playground", cases, "([given, setting]) => playground(given, setting)")
    for (state, setting), columns in zip(cases, results, strict=True):
        sizes, eps, frozen = setting.values()
        W, X, gamma, shift = (
            torch.tensor(state[n], dtype=torch.float64) for n in ("W", "X", "gamma", "shift")
        )
        moves = paper_columns(sizes, gamma, shift, len(W), len(X))
        for (name, by), found in zip(moves.items(), columns, strict=True):
            for norm in ("none", *state["promised"]):
                kept = statistics(summed_inputs("batch", W, X)) if frozen and norm == "batch" else None
                for when, move in (("before", None), ("after", by)):
                    want = normalized(norm, W, X, eps=eps, frozen=kept, by=move)
                    atol = 1e-9 * max(1.0, float(want.abs().max()))
                    np.testing.assert_allclose(found[when][norm], want, rtol=0, atol=atol)
                row, shown = (
                    measure(norm, by, W, X, name=name, eps=eps, frozen=frozen),
                    found["verdicts"][norm],
                )
                # Both round, by at most 1e-12; an eps of 1e-8 changes an output by more than 1e-10.
                assert shown["change"] == pytest.approx(row.max_relative_change, rel=1e-6, abs=1e-12)
                assert shown["kind"] == KINDS[row.verdict], (norm, name, setting, row)
                seen[shown["kind"]] += 1
    assert min(seen.values()) >= 10, seen
    erase = (states[0], {"sizes": [0] * 6, "eps": 0.0, "frozen": False})
    (erased,) = each("invariance_playground", [erase], "([given, setting]) => playground(given, setting)")
    for column, norm in product((0, 3), ("none", *states[0]["promised"])):  # no matrix, no data: 0, not 0 / 0
        np.testing.assert_array_equal(np.array(erased[column]["after"][norm], float), 0)


def test_what_the_playground_promises_is_what_lnlib_measures_on_random_layers():
    promised = invariance_playground().state["promised"]
    rows = table1(promised)
    assert {norm: [row.invariant for row in rows if row.norm == norm] for norm in promised} == promised


def test_the_offset_moves_rmsnorm_alone_by_the_angle_that_it_turns_the_summed_inputs():
    layers = [offset().state, {"W": NORMAL[:, :5], "x": NORMAL[0, :5]}]
    cases = [
        (given, {"c": c, "centered": centered})
        for given, c, centered in product(layers, (-3.0, 0.0, 0.1, 1e3), (False, True))
    ]
    for (given, setting), found in zip(
        cases, each("offset", cases, "([given, state]) => measure(given, state)"), strict=True
    ):
        W, x, c = np.array(given["W"]), np.array(given["x"]), setting["c"]
        shifted = W + c * x / (x @ x)
        a = torch.from_numpy((shifted - shifted.mean(0) if setting["centered"] else shifted) @ x)
        want = {"none": a, "layer": layer_norm(a, eps=0.0), "rms": rms_norm(a, eps=0.0)}
        for lane, out in want.items():
            # sums of a few products, whose rounding grows with the offset in them
            np.testing.assert_allclose(found["now"][lane], out, atol=1e-14 * (1 + abs(c)), rtol=1e-13)
            row, cosine = found["rows"][lane], torch.cosine_similarity(out, a, 0).clamp(-1, 1)
            assert row["mean"] == pytest.approx(float(out.mean()), abs=1e-11)
            assert row["length"] == pytest.approx(float(out.norm()), rel=1e-11)
            # arccos near 1 doubles the digits that are lost
            assert row["apart"] == pytest.approx(math.degrees(math.acos(cosine)), abs=1e-5)
        rows = found["rows"]
        assert rows["layer"]["turned"] < 1e-10  # layer norm removes the offset; by rounding
        assert rows["rms"]["turned"] == pytest.approx(rows["none"]["turned"], abs=1e-9)
        assert (found["difference"] < 1e-12 * (1 + abs(c))) == setting["centered"]


def test_of_a_gradient_the_projection_passes_what_autograd_passes():
    states = [projection(seed=seed).state for seed in range(3)]
    states += [{"turn": 215, "sigma": 0.5, "circle": -1.5, "hat": 0.7, "one": 0.0}]
    states += [{"turn": 300, "sigma": 2.0, "circle": 0.0, "hat": 1.5, "one": -1.5}]
    for state, found in zip(states, each("projection", states, "measure"), strict=True):
        a, gradient = (torch.tensor(found[name], dtype=torch.float64) for name in ("a", "gradient"))
        out = layer_norm(a, eps=0.0)
        np.testing.assert_allclose(found["output"], out, atol=1e-14)
        assert float(a.std(correction=0)) == pytest.approx(state["sigma"], rel=1e-14)
        parts = [float(gradient @ out) / 3**0.5, float(gradient.sum()) / 3**0.5]
        np.testing.assert_allclose(parts, [state["hat"], state["one"]], atol=1e-14)
        np.testing.assert_allclose(found["passed"], passed(a, gradient), atol=1e-14)
        np.testing.assert_allclose(found["kept"], state["sigma"] * passed(a, gradient), atol=1e-14)
        want = [state["circle"] / state["sigma"], 0, 0]
        np.testing.assert_allclose(found["lanes"]["passed"], want, atol=1e-14)


def test_the_recurrences_states_and_gradients_are_those_of_autograd():
    weights = [drift.recurrent_drift().state, drift._draw(1, units=8)]
    settings = [replace(setting, T=40) for setting in drift.PRESETS.values()]  # before chaos eats the digits
    settings += [drift.Setting("relu", s=1.3, g=2.0, u=0.5, T=200)]
    cases = [(given, asdict(setting)) for given in weights for setting in settings]
    results = each("recurrent_drift", cases, "([given, setting]) => drift(given, setting)")
    for (given, setting), found in zip(cases, results, strict=True):
        for lane, normalized_too in (("plain", False), ("layer", True)):
            want = drift.unroll(given, drift.Setting(**setting), normalized_too)
            for name, values in zip(("summed", "states", "gradients"), want, strict=True):
                np.testing.assert_allclose(found[lane][name], values, rtol=1e-8, err_msg=f"{setting}, {name}")


# Reading typed arrays as JSON gives objects: lists instead.
PLAIN = "(one) => JSON.parse(JSON.stringify(one, (_, v) => v instanceof Float64Array ? [...v] : v))"


def by_autograd(one: dict[str, Any], placement: str, c: float, depth: int) -> list[float]:
    """The gradients' norms of all blocks of the script's network, in the model of its page."""
    W1, W2 = zip(*one["blocks"][:depth], strict=True)
    first, second = (torch.tensor(W, dtype=torch.float64) for W in (W1, W2))
    second = (c**0.5 * second.mT).requires_grad_()  # the script keeps W2 transposed
    x, readout = (torch.tensor(one[name], dtype=torch.float64) for name in "xr")
    loss = (readout * output(placement, (first, second), x)).sum() / len(x)
    unit = math.sqrt(first.shape[1] / len(x))
    return (torch.autograd.grad(loss, second)[0].norm(dim=(1, 2)) / unit).tolist()


@pytest.mark.parametrize(("width", "depth", "c"), [(4, 6, 1.0), (8, 3, 0.0625), (16, 2, 4.0)])
def test_residual_depth_has_the_gradients_of_autograd(width, depth, c):
    runs = f"Object.keys(PLACEMENTS).map((p) => gradients(one, p, {c}, [1, {depth}]))"
    one, found = evaluate(
        "residual_depth", f"((one) => [({PLAIN})(one), {runs}])(network(7, {width}, {depth}))"
    )
    for placement, (single, whole) in zip(PLACEMENTS, found, strict=True):
        np.testing.assert_allclose(single, by_autograd(one, placement, c, 1), rtol=1e-12)
        # rounding, which a block multiplies by the root of 1 + c at most
        np.testing.assert_allclose(whole, by_autograd(one, placement, c, depth), rtol=1e-11)


def test_residual_depths_limits_and_powers_are_those_of_its_page():
    cases = list(product(PLACEMENTS, (0.0625, 1.0, 4.0), (1, 8, 64), (1,)))
    limits = {"pre": lambda c, L, k: (1 + c * k) ** -0.5, "post": lambda c, L, k: (1 + c) ** -0.5}
    limits["none"] = lambda c, L, k: (1 + c) ** ((L - 1) / 2)
    want = [limits[p](c, L, k) for p, c, L, k in cases]
    np.testing.assert_allclose(each("residual_depth", cases, "(given) => limit(...given)"), want, rtol=1e-14)
    norms = np.random.default_rng(0).uniform(0.1, 1, (4, 5))
    found = each("residual_depth", norms.tolist(), "(v) => power([4, 8, 16, 32, 64], v)")
    np.testing.assert_allclose(found, exponent([4, 8, 16, 32, 64], norms), rtol=1e-12)


def test_the_strokes_script_finds_the_pixels_that_the_builder_packed():
    pictures = np.random.default_rng(0).integers(0, 256, (3, 2, 4, 4)) / 255
    ink = list(base64.b64decode(strokes(pictures, np.zeros((3, 2, 3))).state["ink"]))
    found = evaluate("strokes", f"Array.from(frame({{shape: [3, 2, 4]}}, Uint8Array.from({ink}), 2, 1))")
    assert found == np.round(255 * pictures[2, 1]).ravel().tolist()


def test_the_writing_script_finds_the_points_that_the_builder_packed():
    line = [np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[10.0, -2.0]])]
    packed = writing({"a": {0.0: line}}).state["lines"][0][0]
    points = [[[0, 0], [300, -400]], [[1000, 200]]]  # 10 wide becomes 1000, y turns downward
    assert each("writing", packed, "(numbers) => unpack(numbers)") == points
    drawn = each("writing", [0, 1, 2, 9], f"(count) => trace({points}, count)")
    assert drawn == ["", "M0 0h0", "M0 0L300 -400", "M0 0L300 -400M1000 200h0"]
    assert evaluate("writing", f"[bounds({points}, 1), bounds([], 1)]") == [
        [-1, -401, 1002, 602],
        [0, 0, 1, 1],
    ]

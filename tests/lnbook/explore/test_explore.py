"""What every interactive figure keeps to: the same bytes each time, few, and nothing from elsewhere."""

import re

import numpy as np
import pytest
import torch
from explorable import NETWORK, evaluate

from lnbook.explore import FIGURES, builder

KB = 1024
MOST = 32 * KB  # of one figure in a page; recurrent_drift carries a matrix and inputs
SVG = "http://www.w3.org/2000/svg"  # the name of SVG's elements is spelled as an address, which nothing opens
each_figure = pytest.mark.parametrize("name", FIGURES)


@each_figure
def test_the_figure_is_the_same_each_time_and_carries_no_ids(name):
    one, again, other = (builder(name)(seed=seed)._repr_html_() for seed in (0, 0, 1))
    assert one == again != other
    assert " id=" not in one


@each_figure
def test_the_figure_is_small_and_asks_the_network_for_nothing(name):
    figure = builder(name)()._repr_html_()
    assert len(figure.encode()) <= MOST
    assert [word for word in (*NETWORK, "<link", "@import", "url(") if word in figure.replace(SVG, "")] == []


def test_the_axis_flip_stays_small_with_the_largest_data_it_takes():
    largest = builder("axis_flip")(np.random.default_rng(0).normal(size=(12, 10)))
    assert len(largest._repr_html_().encode()) <= MOST


@pytest.mark.parametrize(
    ("name", "given", "row"),
    [
        ("axis_flip", {"a": [[1, 3], [2, 8], [6, 4]]}, "unit 1|3.00, 2.16|0.00, 1.00|−0.33, 0.94"),
        ("case_scale", {}, "δ = −1, ε = 0|2.800; 0|2.752; 0.917|2.683; 0|−1.0000"),
        ("fisher_ellipse", {}, "no norm, Bernoulli|0.29|× 0.74|0.13|× 0.32"),
        ("fisher_ellipse", {}, "batch norm, Bernoulli|0.13|× 0.25|0|0"),
        ("five_reductions", {}, "instance norm|a channel of a case over its positions|12|4|1.64"),
        ("gain_and_bias", {"a": [1, 3, 9, 19]}, "standardized|−1.00|−0.71|0.14|1.57"),
        ("gain_and_bias", {"a": [1, 3, 9, 19]}, "with gain 7.00, bias 8.00|1.00|3.00|9.00|19.00"),
        ("invariance_playground", {}, "Layer norm|invariant|invariant|21%|invariant|22%|invariant"),
        ("offset", {}, "c = 0|2.30, −0.47, −0.21, −0.42, 1.81|1.42, −0.90, −0.68, −0.85, 1.01|1.71,"),
        ("recurrent_drift", {}, "It explodes: no f, s = 1.1, g = 1, u = 0|1.4e+04|1|1.3e+04|0.78"),
        ("residual_depth", {}, "post-LN|0.71|0.64|0.59|0.43"),
        ("strokes", {}, "picture 1|16 %, 3 wide|26 %, 4 wide|37 %, 3 wide"),
    ],
)
def test_the_table_that_stands_in_for_a_figure_has_its_numbers(name, given, row):
    cells = re.sub(r"</t[hd]><t[hd]>", "|", builder(name)(**given).fallback)
    assert f"<th>{row}" in cells


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("axis_flip", {"a": (3, 4)}),
        ("case_scale", {"a": (3, 4)}),
        ("gain_and_bias", {"a": (4,)}),
        ("invariance_playground", {"W": (4, 3), "X": (5, 3)}),
    ],
)
def test_given_data_is_shown_exactly_and_not_modified(name, shapes, dtype):
    torch.manual_seed(0)
    given = {key: torch.randn(shape, dtype=dtype, requires_grad=True) for key, shape in shapes.items()}
    before = {key: tensor.detach().clone() for key, tensor in given.items()}
    state = builder(name)(**given).state
    for key, tensor in before.items():
        assert state[key] == tensor.double().tolist()
        assert torch.equal(given[key], tensor)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("axis_flip", {"a": np.zeros(4)}, r"a is \(cases, units\), got shape \(4,\); reshape or index it"),
        ("axis_flip", {"a": np.zeros((0, 4))}, "1 to 12 cases can be shown, got 0; give more"),
        ("axis_flip", {"a": np.zeros((4, 11))}, "1 to 10 units can be shown, got 11; give fewer"),
        ("axis_flip", {"a": [[1.0, 2.0], [np.nan, 0.0]]}, r"must be finite, and a\[1, 0\] is nan; replace"),
        ("axis_flip", {"a": [[1.0, np.inf]]}, r"a\[0, 1\] is inf"),
        ("case_scale", {"a": np.eye(2)}, "3 to 6 cases can be shown, got 2"),
        ("gain_and_bias", {"a": [1.0]}, "2 to 6 units can be shown, got 1"),
        ("invariance_playground", {"W": np.eye(3)}, "give weights W and data X, or neither"),
        ("invariance_playground", {"W": np.eye(3), "X": np.ones((4, 2))}, "W has 3 inputs, X has 2"),
        ("invariance_playground", {"W": np.diag([1.0, 2.0, 0.0]), "X": np.eye(3)}, "vector of zeros"),
        ("invariance_playground", {"W": np.ones((3, 3)), "X": np.eye(3)}, "a case equal for all units"),
        ("invariance_playground", {"W": np.eye(3), "X": np.ones((3, 3))}, "a unit equal for all cases"),
        ("invariance_playground", {"W": np.eye(3), "X": np.eye(3) + 1e9}, "rounding could change the output"),
        ("residual_depth", {"seed": 0.5}, "seed is 0.5; give a whole number"),
        ("residual_depth", {"seed": 2**21}, "seed is 2097152; give a whole number"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_its_reason(name, given, message):
    with pytest.raises(ValueError, match=message):
        builder(name)(**given)


def test_numbers_are_printed_short_with_a_true_minus_sign():
    shown = evaluate("axis_flip", "[1e6, -1e6, 123.4, 12.34, 1.26, -0.04].map((value) => show(value, 1))")
    assert shown == ["1e6", "−1e6", "123", "12", "1.3", "0.0"]

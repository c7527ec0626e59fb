"""What every interactive figure keeps to: few bytes, the same each time, a table, a file."""

import re

import numpy as np
import pytest
import torch
from explorable import ALL, evaluate, made

from lnbook.__main__ import main
from lnbook.explore import FIGURES, builder

# What would ask the network, and ids, of which a page may have others.
ASKS = ("http:", "https:", "import ", 'type="module"', "fetch(", " src=", "<link", "@import", "url(", " id=")
MOST = 32 * 1024  # bytes of one figure in a page; recurrent_drift carries a matrix and inputs
SVG = "http://www.w3.org/2000/svg"  # the name of SVG's elements is spelled as an address, which nothing opens


@pytest.mark.parametrize("name", ALL)
def test_the_figure_is_small_the_same_each_time_and_asks_the_network_for_nothing(name):
    one, again, other = (made(name, seed)._repr_html_() for seed in (0, 0, 1))
    assert one == again != other
    assert len(one.encode()) <= MOST
    assert [word for word in ASKS if word in one.replace(SVG, "")] == []


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("axis_flip", "unit 1|3.00, 2.16|0.00, 1.00|−0.33, 0.94"),
        ("fisher_ellipse", "batch norm, Bernoulli|0.13|× 0.25|0|0"),
        ("five_reductions", "instance norm|a channel of a case over its positions|12|4|1.64"),
        ("gain_and_bias", "with gain 7.00, bias 8.00|1.00|3.00|9.00|19.00"),
        ("invariance_playground", "Layer norm|invariant|invariant|21%|invariant|22%|invariant"),
        ("offset", "c = 0|2.30, −0.47, −0.21, −0.42, 1.81|1.42, −0.90, −0.68, −0.85, 1.01|1.71,"),
        ("projection", "0.90, −0.80, −0.80 of them|−1.38, 0.31, −0.32|−0.69, 0.13, 0.56|−0.46, 0.09, 0.38"),
        ("recurrent_drift", "It explodes: no f, s = 1.1, g = 1, u = 0|1.4e+04|1|1.3e+04|0.78"),
        ("residual_depth", "post-LN|0.71|0.64|0.59|0.43"),
        ("strokes", "picture 1|25 %, 4 wide|25 %, 4 wide|25 %, 4 wide"),
        ("writing", "one wave|3 strokes, 180 points|3 strokes, 180 points"),
    ],
)
def test_the_table_that_stands_in_for_a_figure_has_its_numbers(name, row):
    given = {
        "axis_flip": [[[1, 3], [2, 8], [6, 4]]],
        "gain_and_bias": [[1, 3, 9, 19]],
        "strokes": [np.full((3, 1, 2, 2), 0.25), np.full((3, 1, 3), 4.0)],
    }
    figure = builder(name)(*given[name]) if name in given else made(name)
    assert f"<th>{row}" in re.sub(r"</t[hd]><t[hd]>", "|", figure.fallback)


@pytest.mark.parametrize(("name", "shape"), [("axis_flip", (3, 4)), ("gain_and_bias", (4,))])
def test_given_data_is_shown_exactly(name, shape):
    a = torch.randn(shape, dtype=torch.bfloat16, requires_grad=True)
    assert builder(name)(a).state["a"] == a.double().tolist()


def test_numbers_are_printed_short_with_a_true_minus_sign():
    shown = evaluate("axis_flip", "[1e6, -1e6, 123.4, 12.34, 1.26, -0.04].map((value) => show(value, 1))")
    assert shown == ["1e6", "−1e6", "123", "12", "1.3", "0.0"]


def test_the_named_figures_or_all_are_written_as_pages_and_unknown_ones_refused(tmp_path, capsys):
    assert main(["explore", "offset", "axis_flip", "--seed", "3", "--out", str(tmp_path)]) == 0
    assert {path.stem for path in tmp_path.iterdir()} == {"offset", "axis_flip"}
    assert (tmp_path / "offset.html").read_text("utf-8") == builder("offset")(seed=3).to_html()
    assert main(["explore", "--out", str(tmp_path)]) == 0
    assert {path.stem for path in tmp_path.iterdir()} == set(FIGURES)
    with pytest.raises(SystemExit, match="2"):
        main(["explore", "axisflip", "--out", str(tmp_path / "none")])
    assert "no figure is called axisflip; choose from axis_flip, " in capsys.readouterr().err

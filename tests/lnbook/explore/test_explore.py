"""What every interactive figure keeps to: few bytes, the same each time, a table, a chapter, a file."""

import re
from pathlib import Path

import nbformat
import numpy as np
import pytest
import torch
from explorable import NETWORK, evaluate

from lnbook.__main__ import main
from lnbook.explore import FIGURES, builder

BOOK = Path(__file__).resolve().parents[3] / "book"
REPLAYS = ("strokes", "writing")  # of what a chapter has trained: they stay there
MOST = 32 * 1024  # bytes of one figure in a page; recurrent_drift carries a matrix and inputs
SVG = "http://www.w3.org/2000/svg"  # the name of SVG's elements is spelled as an address, which nothing opens
each_figure = pytest.mark.parametrize("name", FIGURES)


@each_figure
def test_the_figure_is_small_the_same_each_time_and_asks_the_network_for_nothing(name):
    one, again, other = (builder(name)(seed=seed)._repr_html_() for seed in (0, 0, 1))
    assert one == again != other
    assert len(one.encode()) <= MOST
    found = [word for word in (*NETWORK, "<link", "@import", "url(", " id=") if word in one.replace(SVG, "")]
    assert found == []


@pytest.mark.parametrize(
    ("name", "given", "row"),
    [
        ("axis_flip", {"a": [[1, 3], [2, 8], [6, 4]]}, "unit 1|3.00, 2.16|0.00, 1.00|−0.33, 0.94"),
        ("case_scale", {}, "δ = −1, ε = 0|2.800; 0|2.752; 0.917|2.683; 0|−1.0000"),
        ("fisher_ellipse", {}, "batch norm, Bernoulli|0.13|× 0.25|0|0"),
        ("five_reductions", {}, "instance norm|a channel of a case over its positions|12|4|1.64"),
        ("gain_and_bias", {"a": [1, 3, 9, 19]}, "with gain 7.00, bias 8.00|1.00|3.00|9.00|19.00"),
        ("invariance_playground", {}, "Layer norm|invariant|invariant|21%|invariant|22%|invariant"),
        ("offset", {}, "c = 0|2.30, −0.47, −0.21, −0.42, 1.81|1.42, −0.90, −0.68, −0.85, 1.01|1.71,"),
        ("recurrent_drift", {}, "It explodes: no f, s = 1.1, g = 1, u = 0|1.4e+04|1|1.3e+04|0.78"),
        ("residual_depth", {}, "post-LN|0.71|0.64|0.59|0.43"),
        ("strokes", {}, "picture 1|16 %, 3 wide|26 %, 4 wide|37 %, 3 wide"),
        ("writing", {}, "one wave|2 strokes, 120 points|2 strokes, 120 points"),
    ],
)
def test_the_table_that_stands_in_for_a_figure_has_its_numbers(name, given, row):
    cells = re.sub(r"</t[hd]><t[hd]>", "|", builder(name)(**given).fallback)
    assert f"<th>{row}" in cells


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("name", "shape"), [("axis_flip", (3, 4)), ("gain_and_bias", (4,))])
def test_given_data_is_shown_exactly(name, shape, dtype):
    a = torch.randn(shape, dtype=dtype, requires_grad=True)
    assert builder(name)(a).state["a"] == a.double().tolist()


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("name", "a", "message"),
    [
        ("axis_flip", np.zeros(4), r"shows 1 to 12 cases by 1 to 10 units, got shape \(4,\); reshape it"),
        ("axis_flip", np.zeros((4, 11)), r"got shape \(4, 11\); reshape it or give a part of it"),
        ("axis_flip", [[1.0, np.inf]], "axis_flip: a number is inf; give finite ones"),
        ("gain_and_bias", [1.0], r"gain_and_bias shows 2 to 6 units, got shape \(1,\)"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_its_reason(name, a, message):
    with pytest.raises(ValueError, match=message):
        builder(name)(a)


def test_numbers_are_printed_short_with_a_true_minus_sign():
    shown = evaluate("axis_flip", "[1e6, -1e6, 123.4, 12.34, 1.26, -0.04].map((value) => show(value, 1))")
    assert shown == ["1e6", "−1e6", "123", "12", "1.3", "0.0"]


def cells(page: str) -> list[nbformat.NotebookNode]:
    return nbformat.read(BOOK / f"{page}.ipynb", as_version=4).cells


def shows(cell: nbformat.NotebookNode, figure: str) -> bool:
    """Whether a cell of code ends in this figure."""
    lines = cell.source.strip().splitlines()
    return cell.cell_type == "code" and bool(lines) and re.match(rf"{figure}\(", lines[-1]) is not None


@each_figure
def test_a_chapter_shows_each_figure_once_and_the_gallery_asks_a_question_and_links_to_it(name):
    pages = [p.stem for p in BOOK.glob("*.ipynb") if p.stem != "explore"]
    (chapter,) = [page for page in pages for cell in cells(page) if shows(cell, name)]
    gallery = cells("explore")
    if name in REPLAYS:
        assert not any(shows(cell, name) for cell in gallery)
        text = next(c.source for c in gallery if f"`{name}()`" in c.source)
    else:
        (at,) = [k for k, cell in enumerate(gallery) if shows(cell, name)]
        text = gallery[at - 1].source
        assert re.match(r"## .*?\*[^*]+\?[^*]*\*", text, re.DOTALL), "each figure begins with a question"
    assert chapter in re.findall(r"\{doc\}`(?:[^<`]*<)?(\w+)>?`", text)


def test_all_figures_or_the_named_ones_are_written_as_pages_of_their_own(tmp_path, capsys):
    for names, seed in ((FIGURES, 0), (("offset", "axis_flip"), 3)):
        folder = tmp_path / "new" / str(seed)
        asked = names if seed else ()
        assert main(["explore", *asked, "--seed", str(seed), "--out", str(folder)]) == 0
        assert sorted(capsys.readouterr().out.split()) == sorted(str(path) for path in folder.iterdir())
        assert {path.stem for path in folder.iterdir()} == set(names)
        for name in names:
            page = (folder / f"{name}.html").read_text(encoding="utf-8")
            assert page == builder(name)(seed=seed).to_html()
            assert page.startswith("<!doctype html>")


def test_an_unknown_figure_is_refused_before_anything_is_written(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["explore", "offset", "axisflip", "--out", str(tmp_path / "figures")])
    assert "no figure is called axisflip; choose from axis_flip, " in capsys.readouterr().err
    assert not (tmp_path / "figures").exists()

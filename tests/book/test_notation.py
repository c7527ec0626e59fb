"""The notation page's tables: made of the code, so that they cannot name what is not there."""

import doctest
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

import notation  # noqa: E402

SYMBOLS = list(notation.symbol_rows())
EQUATIONS = list(notation.equation_rows())


def test_every_numbered_equation_is_a_function_with_tests():
    numbers = {int(re.search(r"\d+", row[0])[0]) for row in EQUATIONS}
    assert numbers == set(range(1, 36))
    assert [row[1] for row in EQUATIONS if not row[4]] == []


def test_the_shape_of_an_argument_is_the_one_of_its_annotation():
    assert notation.place("lnlib.equations.eq13:chi").shape == "(N, H, D)"
    assert notation.place("lnlib.equations.eq5:mu").shape == "(H,) or scalar"
    assert notation.place("lnlib.equations.eq8").shape == "scalar"
    assert notation.place("lnlib.batch_norm:unbiased").shape == "flag"


def test_the_shape_of_a_layers_parameter_is_read_off_a_layer():
    assert notation.place("lnlib.LSTM.weight_hh_l0") == ("lnlib.LSTM", "weight_hh_l0", "(4H, H)")
    assert notation.place("lnlib.GRU.weight_ih_l0").shape == "(3H, D)"


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("lnlib.equations.eq99", "eq99"),
        ("lnlib.equations.eq1:Z", "no argument 'Z'"),
        ("lnlib.LSTM.weight_zz_l0", "no parameter 'weight_zz_l0'"),
        ("lnlab.equations.eq1", "no such module"),
    ],
)
def test_a_place_that_does_not_exist_is_an_error_that_names_it(name, missing):
    with pytest.raises(LookupError, match=missing):
        notation.place(name)


def test_rows_are_whole_and_keep_to_the_axes_of_the_page():
    page = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
    heads = re.findall(r"^\| (`[A-Z]`(?:, `[A-Z]`)*) \|", page, flags=re.MULTILINE)
    axes = set(re.findall(r"[A-Z]", "".join(heads)))
    assert len(SYMBOLS) > 40
    for row in SYMBOLS:
        assert "|" not in "".join(row), "a bar would end the table's cell"
        assert "" not in row
        sizes = re.findall(r"\(([^()$]*)\)", re.sub(r"`[^`]*`", "", row[-1]))
        assert set(re.findall(r"[A-Z]", "".join(sizes))) <= axes, row
    assert sum("(N, H" in row[-1] for row in SYMBOLS) > 5


def test_the_examples_run():
    assert doctest.testmod(notation).failed == 0

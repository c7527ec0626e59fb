"""The notation page's tables: made of the code, so that they cannot name what is not there."""

import re
from pathlib import Path

import notation

ROOT = Path(__file__).resolve().parents[2]
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
    assert notation.place("lnlib.LSTM.weight_hh_l0") == ("lnlib.LSTM", "weight_hh_l0", "(4H, H)")
    assert notation.place("lnlib.GRU.weight_ih_l0").shape == "(3H, D)"


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

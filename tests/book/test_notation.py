"""The notation page's tables name what the code has, with the shapes that it says."""

import inspect
import re
import typing
from pathlib import Path
from pkgutil import resolve_name

import notation
import pytest
from torch import nn

PAGE = (Path(__file__).resolve().parents[2] / "book" / "notation.md").read_text(encoding="utf-8")
SYMBOLS = [line for line in PAGE.splitlines() if line.startswith("| ") and line.count("|") == 5][2:]
PLACES = [place for line in SYMBOLS for place in line.rstrip("| ").rpartition("|")[2].strip().split("<br>")]


def test_every_numbered_equation_is_a_function_with_tests():
    rows = list(notation.equation_rows())
    assert {int(re.search(r"\d+", row[0])[0]) for row in rows} == set(range(1, 36))
    assert [row[1] for row in rows if not row[4]] == []


@pytest.mark.parametrize("place", PLACES)
def test_a_symbol_is_where_its_row_says_and_there_has_that_shape(place):
    letter, name, size = re.fullmatch(r"(?:`(\w+)` of )?`([\w.]+)`(.*)", place).groups()
    found = resolve_name(name if "." in name else f"lnlib.equations.{name}")
    if inspect.isclass(found) and issubclass(found, nn.Module):
        assert hasattr(found(5, 7), letter)
        return
    called = found.__init__ if inspect.isclass(found) else found
    assert not letter or letter in inspect.signature(called).parameters
    if size and "." not in name:
        shape = notation.shape(typing.get_type_hints(called).get(letter or "return"))
        assert size.strip().removesuffix(" each") == shape


def test_sizes_keep_to_the_axes_of_the_page():
    heads = re.findall(r"^\| (`[A-Z]`(?:, `[A-Z]`)*) \|", PAGE, flags=re.MULTILINE)
    axes = set(re.findall(r"[A-Z]", "".join(heads)))
    assert len(SYMBOLS) > 40
    assert set(re.findall(r"[A-Z]", "".join(re.findall(r"\(([^()$]*)\)", "".join(PLACES))))) <= axes

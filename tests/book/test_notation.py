"""The notation page's table names what the code has, with the shapes that it says."""

import inspect
import re
import typing
from pathlib import Path
from pkgutil import resolve_name

import pytest
from torch import nn

from lnlib import equations

PAGE = (Path(__file__).resolve().parents[2] / "book" / "notation.md").read_text(encoding="utf-8")
SYMBOLS = [line for line in PAGE.splitlines() if line.startswith("| ") and line.count("|") == 5][2:]
PLACES = [place for line in SYMBOLS for place in line.rstrip("| ").rpartition("|")[2].strip().split("<br>")]


def test_every_numbered_equation_is_a_function():
    assert {int(re.search(r"\d+", name)[0]) for name in equations.__all__} == set(range(1, 36))


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
        shape = getattr(typing.get_type_hints(called)[letter or "return"], "dim_str", None)
        assert shape is None or re.findall(r"\w+", size) == (shape.split() or ["scalar"])

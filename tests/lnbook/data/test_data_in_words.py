"""A page says which data it read."""

import re
from pathlib import Path

import nbformat
import pytest

from lnbook.data import DATA_SETS
from lnbook.data.in_words import data_in_words

BOOK = Path(__file__).resolve().parents[3] / "book"


@pytest.mark.parametrize("name", [name for name, entry in DATA_SETS.items() if entry.stand_in])
def test_a_stand_in_is_named_with_what_it_stands_for_and_the_published_data_alone(name: str) -> None:
    stand_in = DATA_SETS[name].stand_in
    assert "in place of" not in data_in_words({"name": name}, name)
    told = data_in_words({"name": stand_in}, name)
    asked = re.search(r"in place of ([^,]+),", told)
    assert asked
    assert asked[1] in DATA_SETS[name].title
    assert "43" not in told  # a page may read fewer books
    assert len(told) < 320
    assert told.endswith("the stand-in cannot show it.")


def test_a_page_that_is_about_a_data_set_declares_it_and_what_stands_in_for_it() -> None:
    for path in BOOK.glob("*.ipynb"):
        notebook = nbformat.read(path, 4)
        code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
        for wanted in re.findall(r'data_in_words\([\w.]+, "(\w+)"\)', code):
            stand_in = "stories" if "reader.readings_of" in code else DATA_SETS[wanted].stand_in
            assert {wanted, stand_in} <= {*notebook.metadata.lnlib.data}, path
            assert sum("{glue:text}`data_read`" in cell.source for cell in notebook.cells) == 1, path

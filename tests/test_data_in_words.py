"""A page says which data it read."""

import pytest

from lnlib.data import DATA_SETS
from lnlib.data.in_words import data_in_words


@pytest.mark.parametrize("name", [name for name, entry in DATA_SETS.items() if entry.stand_in])
def test_a_stand_in_is_named_with_what_it_stands_for_and_the_published_data_alone(name: str) -> None:
    stand_in = DATA_SETS[name].stand_in
    assert "in place of" not in data_in_words({"name": name}, name)
    told = data_in_words({"name": stand_in}, name)
    assert f"in place of {DATA_SETS[name].title.partition(':')[0]}" in told
    assert told.endswith("the stand-in cannot show it.")

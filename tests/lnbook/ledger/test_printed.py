"""The paper's tables, as typed once in the ledger's file."""

from pathlib import Path

import pytest

from lnbook.ledger.printed import printed_table


def test_the_tables_have_the_numbers_of_the_print() -> None:
    two = printed_table("table-2").rows["the paper"]
    assert list(two["OE + LN"].values()) == [48.5, 80.6, 89.8, 5.1, 38.9, 74.3, 86.3, 7.6]
    assert "caption R@5" not in two["Sym"]
    three = printed_table("table-3").rows["the paper"]
    assert list(three["LN, 1.7M"].values()) == [0.858, 0.788, 0.270, 79.4, 83.1, 93.7, 89.3]


def test_a_table_that_is_not_there_or_is_ragged_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    path.write_text('[[table]]\nid = "t"\nsays = "x"\ncolumns = ["a", "b"]\nrows = [["us", "m", 1]]\n')
    with pytest.raises(ValueError, match="no table 't-2'; it has \\['t'\\]"):
        printed_table("t-2", path=path)
    with pytest.raises(ValueError, match="row 'us', 'm': 1 numbers for 2 columns"):
        printed_table("t", path=path)

"""The paper's tables, as typed once in the ledger's file."""

from lnbook.ledger.printed import printed_table


def test_the_tables_have_the_numbers_of_the_print() -> None:
    two = printed_table("table-2").rows["the paper"]
    assert list(two["OE + LN"].values()) == [48.5, 80.6, 89.8, 5.1, 38.9, 74.3, 86.3, 7.6]
    assert "caption R@5" not in two["Sym"]
    three = printed_table("table-3").rows["the paper"]
    assert list(three["LN, 1.7M"].values()) == [0.858, 0.788, 0.270, 79.4, 83.1, 93.7, 89.3]

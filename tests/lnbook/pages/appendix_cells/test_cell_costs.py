"""The benchmark's rows become a table."""

from lnbook.pages.appendix_cells import costs


def test_the_table_has_a_row_a_network_and_a_column_a_method() -> None:
    network = {"task": "DRAW", "kind": "LSTM", "size": "4x1 T2 N1", "mode": "training", "ms": "12.34"}
    methods = ["torch.nn, no norm", *costs.PEERS]
    rows = [{**network, "method": name, "ratio": str(1 + k)} for k, name in enumerate(methods)]
    assert costs.ratio(rows, "DRAW", "LSTM", "training", "loop") == 4
    (row,) = costs.table(rows).rows
    assert row == ["LSTM 4x1 T2 N1: DRAW", "12 ms", "2.00", "3.00", "4.00", "5.00", "6.00"]

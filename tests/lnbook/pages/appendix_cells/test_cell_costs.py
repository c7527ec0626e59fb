"""The benchmark's rows become a table."""

import pytest

from lnbook.pages.appendix_cells import costs


def rows() -> list[dict[str, str]]:
    """Two networks of which each method takes its own number of times torch.nn's."""
    methods = {"torch.nn, no norm": 1, **{name: 2 + k for k, name in enumerate(costs.PEERS)}}
    return [
        {
            "task": task,
            "kind": "LSTM",
            "size": "4x1 T2 N1",
            "mode": mode,
            "method": method,
            "ms": "12.34",
            "ratio": str(times),
        }
        for task in ("small", "DRAW")
        for mode in ("inference", "training")
        for method, times in methods.items()
    ]


def test_the_table_has_a_row_a_network() -> None:
    text = costs.table(rows()).to_markdown()
    assert "LSTM 4x1 T2 N1: small" in text
    assert "12 ms" in text
    assert costs.ratio(rows(), "DRAW", "LSTM", "training", "loop") == 4
    with pytest.raises(KeyError, match="no row of 'cuDNN'"):
        costs.ratio(rows(), "DRAW", "LSTM", "training", "cuDNN")

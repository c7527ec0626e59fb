"""Norms side by side: what each sees, stores, and does to a sequence."""

import numpy as np
import pytest
import torch
from torch import nn

from lnbook.pages.beyond_transformers import drawings, norm_comparison
from lnbook.pages.beyond_transformers.norm_comparison import CHANGES, SequenceBatchNorm


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(4)


def test_positions_count_as_cases(generator):
    a = torch.randn(3, 5, 4, generator=generator)
    flat = nn.BatchNorm1d(4)(a.flatten(0, 1)).view(3, 5, 4)
    torch.testing.assert_close(SequenceBatchNorm(4)(a), flat)


def test_relatives_see_what_their_formulas_say(generator):
    seen = norm_comparison.relatives(generator)
    unseen = {n: [c for c in CHANGES if change[c] < 1e-12] for n, change in seen.items()}
    assert unseen == {
        "layer norm": list(CHANGES[:3]),
        "RMSNorm": list(CHANGES[:2]),
        "QK-norm": list(CHANGES[:2]),
        "dynamic tanh": [],
        "none": [],
    }
    # a control: what is seen is seen clearly
    assert all(v < 1e-12 or v > 1e-3 for change in seen.values() for v in change.values())


def test_the_table_counts_parameters_and_stored_numbers(generator):
    norms = {"batch": SequenceBatchNorm(16), "layer": nn.LayerNorm(16), "rms": nn.RMSNorm(16)}
    table = norm_comparison.comparison(norms, 16, generator)
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows["Parameters"]) == ["32", "32", "16"]
    assert list(rows["Stored statistics"]) == ["32", "0", "0"]
    assert float(rows["Mean of the outputs"][2]) > 0.5 > 1e-5 > float(rows["Mean of the outputs"][1])
    assert float(rows["Change if 56 of 64 cases leave"][0]) > 0.1
    assert list(rows["Change if 56 of 64 cases leave"][1:]) == ["0e+00", "0e+00"]
    assert "re-centering" in rows["Not seen (Table 1)"][1]
    assert "weight matrix re-centering" not in rows["Not seen (Table 1)"][2]


def test_only_batch_norm_in_training_looks_at_other_steps_and_sequences(generator):
    changes = norm_comparison.sequence_changes(generator)
    for name, change in changes.items():
        for value in change.values():
            if name == "batch norm, training":
                assert value > 0.05
            else:
                assert value < 1e-5  # float32, in batches of other sizes


def test_rows_say_panel_name_place_and_interval() -> None:
    rows = drawings.rows(last={"post": np.array([[1.0, 2.0], [2.0, 4.0]])})
    assert [row["place"] for row in rows] == [0, 1]
    assert (rows[1]["panel"], rows[1]["name"], rows[1]["mean"]) == ("last", "post", 3.0)
    assert rows[1]["low"] < 3.0 < rows[1]["high"]

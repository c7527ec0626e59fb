"""Norms side by side: what each stores and does to a sequence."""

import pytest
import torch
from torch import nn

from lnbook.pages.beyond_transformers import norm_comparison
from lnbook.pages.beyond_transformers.norm_comparison import SequenceBatchNorm


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(4)


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

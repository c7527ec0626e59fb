"""Classifiers that meet digits at another contrast: what the invariances say beforehand."""

import pytest
import torch

from lnbook import data
from lnbook.pages.sec5_1_invariance import contrast, drawings
from lnlib.invariance import table1


@pytest.mark.parametrize("method", contrast.NETWORKS)
def test_contrast_changes_every_network_but_layer_norms_and_brightness_changes_all(method) -> None:
    x, y = data.load("digits").flat("train")
    x, y = torch.from_numpy(x[:500]).double(), torch.from_numpy(y[:500])
    network = contrast.train(method, x, y, units=32, updates=150)
    # A tenth is guessing; 150 updates make fewer than a fifth of mistakes on what they saw.
    assert (network(x).argmax(1) != y).double().mean() < 0.2
    change = (network(x / 8) - network(x)).abs().max()
    # A power of two scales without rounding, until sigma is divided by.
    assert change < 1e-11 if method == "layer" else change > 0.1
    assert (network(x + 0.5) - network(x)).abs().max() > 0.1
    torch.testing.assert_close(
        network(x[:1]), network(x)[:1]
    )  # batch norm keeps its training set's statistics


def test_a_cell_of_table_1_that_disagrees_is_framed() -> None:
    rows = table1(layers=1)
    wrong = [rows[0]._replace(invariant=False), *rows[1:]]
    pictures = [drawings.table1(r).axes[0] for r in (rows, wrong)]
    assert [sum(p.get_linewidth() == 3 for p in ax.patches) for ax in pictures] == [0, 1]

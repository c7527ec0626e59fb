"""Classifiers that meet digits at another contrast: what the invariances say beforehand."""

import pytest
import torch

from lnbook import data
from lnbook.pages.sec5_1_invariance import contrast, drawings
from lnlib.invariance import statistics, table1


@pytest.fixture(scope="module")
def digits() -> tuple[torch.Tensor, torch.Tensor]:
    x, y = data.load("digits").flat("train")
    return torch.from_numpy(x[:500]).double(), torch.from_numpy(y[:500])


@pytest.fixture(scope="module")
def networks(digits) -> dict[str, contrast.Network]:
    return {method: contrast.train(method, *digits, units=32, updates=150) for method in contrast.NETWORKS}


def test_every_network_learns(digits, networks):
    x, y = digits
    for method, network in networks.items():
        # A tenth is guessing; 150 updates make fewer than a fifth of mistakes on what they saw.
        assert (network(x).argmax(1) != y).double().mean() < 0.2, method


def test_contrast_changes_every_network_but_layer_norm_without_a_bias_inside(digits, networks):
    x, _ = digits
    for method, network in networks.items():
        change = (network(x / 8) - network(x)).abs().max()
        # A power of two scales without rounding, until sigma is divided by.
        assert change < 1e-11 if method == "layer" else change > 0.1, method


def test_brightness_changes_every_network(digits, networks):
    x, _ = digits
    for method, network in networks.items():
        assert (network(x + 0.5) - network(x)).abs().max() > 0.1, method


def test_batch_norm_keeps_the_statistics_of_its_training_set(digits, networks):
    x, _ = digits
    network = networks["batch"]
    mean, var = statistics(x @ network.parameters["W"].T)
    torch.testing.assert_close(network.kept[0], mean)
    torch.testing.assert_close(network.kept[1], var)
    torch.testing.assert_close(network(x[:1]), network(x)[:1])


def test_networks_share_their_start_and_their_data(digits):
    one, other = (contrast.train(m, *digits, units=8, updates=0) for m in ("none", "layer"))
    assert torch.equal(one.parameters["W"], other.parameters["W"])


@pytest.mark.usefixtures("as_users_call")
def test_an_unknown_network_is_an_error(digits):
    with pytest.raises(ValueError, match="no network is called 'rms'"):
        contrast.train("rms", *digits)


def test_a_cell_of_table_1_that_disagrees_is_framed() -> None:
    rows = table1(layers=1)
    wrong = [rows[0]._replace(invariant=False), *rows[1:]]
    pictures = [drawings.table1(r).axes[0] for r in (rows, wrong)]
    assert [sum(p.get_linewidth() == 3 for p in ax.patches) for ax in pictures] == [0, 1]

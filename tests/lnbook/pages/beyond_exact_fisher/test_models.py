"""A small deep network: its matrix and its divergence are of the same steps, its blocks those of neurons."""

import pytest
import torch

from lnbook.pages.beyond_exact_fisher.models import at_random_weights


@pytest.mark.parametrize("norm", ["layer", None])
def test_the_matrix_is_the_curvature_of_the_divergence_and_each_neuron_has_its_parameters(norm) -> None:
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(6, 3, generator=generator, dtype=torch.float64)
    net = at_random_weights(X, torch.randint(10, (6,), generator=generator), norm, 1, units=4)
    more = 2 if norm else 1  # than weights: a bias, and for a normalized neuron its gain
    assert net.neuron.bincount().tolist() == [3 + more] * 4 + [4 + more] * 4 + [5] * 10
    for _ in range(5):
        step = 1e-4 * torch.randn(len(net.neuron), generator=generator, dtype=torch.float64)
        assert net.divergence(step) == pytest.approx(float(step @ net.fisher @ step / 2), rel=1e-2)

"""Laplace's evidence against a dense one by hand."""

import pytest
import torch
from nets import brute_force, mlp, softmax_covariance
from torch import Tensor, nn

from lnbook.pages.beyond_exact_fisher.models import log_evidence


def classes(X: Tensor) -> Tensor:
    return torch.arange(len(X)) % 3


def test_it_is_the_formula():
    model, X = mlp(nn.LayerNorm)
    y, theta = classes(X), nn.utils.parameters_to_vector(model.parameters()).detach()
    names = [name for name, _ in model.named_parameters()]
    z = model(X).detach()
    H = brute_force(model, X, softmax_covariance(z), torch.ones(len(X)).double(), names)
    delta = 0.7
    fit = -nn.functional.cross_entropy(z, y, reduction="sum")
    ratio = torch.linalg.slogdet(H / delta + torch.eye(len(H)).double()).logabsdet
    expected = fit - delta / 2 * theta.square().sum() - ratio / 2
    # a hundred terms, rounded once each
    assert log_evidence(model, X, y, prior_precision=delta) == pytest.approx(float(expected), rel=1e-12)

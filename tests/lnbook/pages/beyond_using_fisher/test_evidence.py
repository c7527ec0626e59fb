"""Laplace's evidence against a dense one by hand and an exact one; and what keeps it."""

import math

import pytest
import torch
from glms import draw
from nets import NETS, brute_force, mlp, softmax_covariance
from torch import Tensor, nn

from lnbook.pages.beyond_using_fisher.evidence import log_evidence
from lnbook.pages.beyond_using_fisher.gauge import canonical, gauge


def classes(X: Tensor) -> Tensor:
    return torch.arange(len(X)) % 3


@pytest.mark.parametrize("cases", [7, 60])
def test_it_is_the_formula(cases):
    """On either side, parameters (105) or outputs (3 a case)."""
    model, _ = mlp(nn.LayerNorm)
    X = draw(cases, 4)
    y, theta = classes(X), nn.utils.parameters_to_vector(model.parameters()).detach()
    names = [name for name, _ in model.named_parameters()]
    z = model(X).detach()
    H = brute_force(model, X, softmax_covariance(z), torch.ones(cases).double(), names)
    delta = 0.7
    fit = -nn.functional.cross_entropy(z, y, reduction="sum")
    ratio = torch.linalg.slogdet(H / delta + torch.eye(len(H)).double()).logabsdet
    expected = fit - delta / 2 * theta.square().sum() - ratio / 2
    # a hundred terms, rounded once each
    assert log_evidence(model, X, y, prior_precision=delta) == pytest.approx(float(expected), rel=1e-12)


def test_of_a_linear_gaussian_model_it_is_exact():
    """Its posterior is Gaussian: at the mode, the evidence is that of the outcomes' normal distribution."""
    X, y, delta, variance = draw(6, 3), draw(6, 1, seed=1), 0.4, 0.3
    model = nn.Linear(3, 1, bias=False).double()
    model.weight.data = torch.linalg.solve(
        X.mT @ X / variance + delta * torch.eye(3).double(), X.mT @ y / variance
    ).mT
    spread = torch.distributions.MultivariateNormal(
        torch.zeros(6).double(), X @ X.mT / delta + variance * torch.eye(6).double()
    )
    found = log_evidence(model, X, y, "gaussian", delta, variance)
    assert found == pytest.approx(float(spread.log_prob(y[:, 0])), rel=1e-12)


def test_the_representatives_evidence_is_one_number_for_all_weights_of_a_function():
    """In a transformer block; the page shows it of a network without sums."""
    model, X = NETS["block, torch's layer norm"]()
    one = log_evidence(canonical(model, X), X, classes(X))
    found = gauge(model, X)
    for scale in found.scales:
        for name, _ in scale.parameters:
            model.get_parameter(name).data.mul_(5)
    for k, s in enumerate(found.shifts):
        p = model.get_parameter(s.parameter).data
        p.add_(s.mean(draw(*p.shape, seed=k)))
    assert abs(one - log_evidence(model, X, classes(X))) > 1  # nats: a Bayes factor of 3 and more
    assert abs(one - log_evidence(canonical(model, X), X, classes(X))) <= 1e-10 * abs(one)


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("precision", [0.0, math.inf, math.nan])
def test_a_precision_is_positive(precision):
    model, X = mlp(nn.LayerNorm)
    with pytest.raises(ValueError, match=rf"prior_precision is {precision}; .* give a number > 0"):
        log_evidence(model, X, classes(X), prior_precision=precision)

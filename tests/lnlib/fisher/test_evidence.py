"""Laplace's evidence against a dense one by hand and an exact one; and what keeps it."""

import copy
import math

import pytest
import torch
from glms import draw, relative
from nets import NETS, block, brute_force, mlp, softmax_covariance
from torch import Tensor, nn

from lnlib.fisher import canonical, gauge, log_evidence

pytestmark = pytest.mark.grid

users_call = pytest.mark.usefixtures("as_users_call")


def classes(X: Tensor) -> Tensor:
    return torch.arange(len(X)) % 3


def stretched(model: nn.Module, X: Tensor, factor: float) -> nn.Module:
    """The same function: every free scale taken times a factor, and common vectors added."""
    other = copy.deepcopy(model)
    found = gauge(model, X)
    for scale in found.scales:
        for name, _ in scale.parameters:
            other.get_parameter(name).data.mul_(factor)
    for k, s in enumerate(found.shifts):
        p = other.get_parameter(s.parameter).data
        p.add_(s.mean(draw(*p.shape, seed=k)))
    return other


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


@pytest.mark.parametrize("net", NETS)
def test_the_representatives_evidence_is_one_number_for_all_weights_of_a_function(net):
    model, X = NETS[net]()
    other = stretched(model, X, 5)
    with torch.no_grad():
        assert relative(other(X), model(X)) <= 1e-12
    plain = log_evidence(model, X, classes(X)) - log_evidence(other, X, classes(X))
    one, two = (log_evidence(canonical(m, X), X, classes(X)) for m in (model, other))
    assert abs(plain) > 1  # nats: a Bayes factor of 3 and more, for no other function
    assert abs(one - two) <= 1e-10 * abs(one)


def test_a_prior_as_much_narrower_makes_up_for_a_scale_where_nothing_else_has_one():
    """One scale of all weights there are: 5 W under delta / 25 is W under delta."""
    model = nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3, eps=0.0, elementwise_affine=False)).double()
    X = draw(8, 4)
    one = log_evidence(model, X, classes(X), prior_precision=0.5)
    for p in model.parameters():
        p.data.mul_(5)
    assert log_evidence(model, X, classes(X), prior_precision=0.5 / 25) == pytest.approx(one, rel=1e-12)


@users_call
@pytest.mark.parametrize("precision", [0.0, -1.0, math.inf, math.nan])
def test_a_precision_is_positive(precision):
    model, X = mlp(nn.LayerNorm)
    with pytest.raises(ValueError, match=rf"prior_precision is {precision}; .* give a number > 0"):
        log_evidence(model, X, classes(X), prior_precision=precision)


@users_call
def test_outcomes_are_the_familys():
    model, X = block(nn.LayerNorm)
    with pytest.raises(ValueError, match=r"categorical outcomes lie in 0\.\.7; classes are 0\.\.2"):
        log_evidence(model, X, torch.tensor([0, 1, 2, 0, 1, 7]))

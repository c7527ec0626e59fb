"""GLMs with normalized summed inputs: parameters, statistics, distributions, and what they refuse."""

import math

import numpy as np
import pytest
import torch
from glms import FAMILIES, NORMS, draw, model
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

import lnlib
from lnlib import GLM
from lnlib.norms.batch import batch_norm, batch_norm_by
from lnlib.norms.normalize import layer_norm, rms_norm, weight_norm

pytestmark = pytest.mark.grid

W, B = torch.tensor([[1.0, 2.0], [3.0, 5.0]]), torch.tensor([0.5, -0.5])
X = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
users_call = pytest.mark.usefixtures("as_users_call")


# --- parameters --------------------------------------------------------------------------------------


@given(st.sampled_from(NORMS), st.integers(1, 5), st.integers(1, 5), st.integers(0, 10**6))
def test_packing_and_unpacking_are_inverse(norm, D, H, seed):
    glm, _ = model(
        "gaussian", norm, D=D, H=H, seed=seed, **({"statistics": ones(H)} if norm == "frozen" else {})
    )
    again = glm.with_theta(glm.theta)
    assert torch.equal(again.W, glm.W)
    assert torch.equal(again.b, glm.b)
    assert (again.gain is None) == (norm is None)
    theta = draw(3, glm.theta.numel(), seed=seed)  # three directions at a time
    assert torch.equal(glm.pack(*glm.unpack(theta)), theta)


def ones(H):
    return torch.zeros(H, dtype=torch.float64), torch.ones(H, dtype=torch.float64)


def test_parameters_come_unit_by_unit():
    assert GLM("gaussian", W, B).theta.tolist() == [1, 2, 0.5, 3, 5, -0.5]
    gain = torch.tensor([7.0, 8.0])
    assert GLM("gaussian", W, B, norm="rms", gain=gain).theta.tolist() == [1, 2, 0.5, 7, 3, 5, -0.5, 8]


def test_a_norm_without_a_gain_has_gains_of_one():
    assert GLM("gaussian", W, B, norm="layer").gain.tolist() == [1, 1]
    assert GLM("gaussian", W, B).gain is None


def test_a_vector_of_another_length_is_refused():
    with pytest.raises(
        ValueError, match=r"6 entries and the model 8 parameters: H = 2 times \(D = 2 plus bias and"
    ):
        GLM("gaussian", W, B, norm="layer").with_theta(torch.zeros(6))
    with pytest.raises(ValueError, match=r"8 entries and the model 6 parameters: .* plus bias\)"):
        GLM("gaussian", W, B).with_theta(torch.zeros(8))


def test_a_model_says_what_it_is():
    assert repr(GLM("poisson", W, B, norm="layer")) == "GLM(poisson, H=2, D=2, norm=layer, torch.float32)"


# --- natural parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_natural_parameters_are_those_of_the_normalizations(eps):
    glm, cases = model("gaussian", "batch", eps=eps)
    a, g, b = cases @ glm.W.mT, glm.gain, glm.b
    mean, var = a.mean(0), a.var(0, unbiased=False)
    assert_close(glm.natural(cases), batch_norm(a, g, b, eps))
    assert_close(glm.freeze(cases).natural(cases[:2]), batch_norm_by(a[:2], mean, var, g, b, eps))
    for norm, expected in (("layer", layer_norm(a, g, b, eps)), ("rms", rms_norm(a, g, eps) + b)):
        assert_close(GLM("gaussian", glm.W, b, norm=norm, gain=g, eps=eps).natural(cases), expected)
    assert_close(GLM("gaussian", glm.W, b).natural(cases), a + b)
    assert_close(
        GLM("gaussian", glm.W, b, norm="weight", gain=g).natural(cases), cases @ weight_norm(glm.W, g).mT + b
    )


def test_weights_enter_the_statistics_of_batch_norm_and_no_other():
    times = torch.tensor([3, 1, 0, 2, 1])
    for norm in NORMS:
        glm, cases = model("gaussian", norm)
        repeated = glm.natural(cases.repeat_interleave(times, 0))
        rows = glm.natural(cases, times.to(cases.dtype)).repeat_interleave(times, 0)
        assert_close(rows, repeated, rtol=1e-13, atol=1e-13)
        same = torch.equal(glm.natural(cases, times.to(cases.dtype)), glm.natural(cases))
        assert same == (norm not in ("batch", "frozen"))


@pytest.mark.parametrize("norm", ["batch", "layer", "rms"])
def test_values_without_spread_give_the_bias_and_no_gradient(norm):
    """As lnlib.layer_norm: 0/0 is 0. 0.1 three times has a rounded mean that is not 0.1."""
    glm = GLM("bernoulli", torch.full((3, 1), 0.1, requires_grad=True), torch.arange(3.0), norm=norm)
    cases = torch.zeros(3, 1) if norm == "rms" else torch.full((3, 1), 1.0)
    z = glm.natural(cases)
    assert torch.equal(z, glm.b.expand(3, 3))
    (gradient,) = torch.autograd.grad(z.sum(), glm.W)
    assert torch.equal(gradient, torch.zeros_like(gradient))


def test_a_case_of_weight_zero_does_not_touch_the_statistics():
    glm, cases = model("gaussian", "batch")
    weights = torch.tensor([1.0, 1, 1, 1, 0], dtype=torch.float64)
    mean, var = glm.moments(cases, weights)
    cases[4] = 1e8
    assert_close(glm.moments(cases, weights), (mean, var), rtol=1e-12, atol=0)
    alone = torch.tensor([1.0, 0, 0, 0, 0], dtype=torch.float64)
    assert torch.equal(glm.natural(cases, alone)[0], glm.b)


def test_a_mean_far_from_zero_leaves_the_spread():
    glm = GLM(
        "gaussian", torch.ones(1, 1, dtype=torch.float64), torch.zeros(1, dtype=torch.float64), norm="batch"
    )
    near = torch.tensor([[-1.0], [0.0], [1.0]], dtype=torch.float64)
    assert_close(glm.natural(near + 1e9), glm.natural(near), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_views_equal_copies_and_nothing_is_modified(norm):
    glm, cases = model("poisson", norm)
    wide = torch.empty(10, 4, dtype=torch.float64)
    strided = wide[::2, 1:3].copy_(cases)
    kept = strided.clone(), glm.theta.clone()
    z = glm.natural(strided)
    assert_close(z, glm.natural(cases), rtol=1e-14, atol=1e-14)
    glm.sample(strided, torch.Generator().manual_seed(0))
    assert torch.equal(strided, kept[0])
    assert torch.equal(glm.theta, kept[1])


# --- distributions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("norm", NORMS)
def test_every_method_gives_one_row_a_case(family, norm):
    glm, cases = model(family, norm)
    y = glm.sample(cases, torch.Generator().manual_seed(0))
    assert glm.mean(cases).shape == (5, 3)
    assert glm.covariance(cases).shape == (5, 3, 3)
    assert glm.log_likelihood(cases, y).shape == glm.kl(glm, cases).shape == (5,)
    assert float(glm.kl(glm, cases).abs().max()) == 0


def test_the_covariance_is_the_scaled_one_times_the_dispersion_squared():
    glm, cases = model("gaussian, matrix")
    assert_close(glm.covariance(cases), glm.dispersion.expand(5, 3, 3))
    glm, cases = model("gamma")
    assert_close(glm.covariance(cases), torch.diag_embed(0.4 * glm.mean(cases) ** 2))
    glm, cases = model("poisson")
    assert_close(glm.covariance(cases), torch.diag_embed(0.5 * glm.mean(cases)))


def test_samples_depend_on_their_generator_only():
    glm, cases = model("categorical", "layer")
    one, two, three = (glm.sample(cases, torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, three)
    assert not glm.sample(cases, torch.Generator().manual_seed(1)).requires_grad


def test_outcomes_are_checked_before_their_likelihood():
    with pytest.raises(ValueError, match=r"give whole numbers in 0..1"):
        GLM("bernoulli", W, B).log_likelihood(X, torch.full((3, 2), 2.0))


def test_parameters_outside_the_natural_domain_are_refused():
    with pytest.raises(ValueError, match=r"gamma outputs with the canonical link need z < 0"):
        GLM("gamma", W, B).mean(X)
    with pytest.raises(ValueError, match=r"poisson rate exp\(z\) overflows torch.float32 at z = 1000"):
        GLM("poisson", W, 1000 + 0 * B).mean(0 * X)
    with pytest.raises(ValueError, match=r"natural parameters of gaussian outputs overflow torch.float32"):
        GLM("gaussian", W * 1e37, B).mean(X * 1e3)


def test_divergences_need_the_same_kind_of_outputs():
    plain, matrix = GLM("gaussian", W, B), GLM("gaussian", W, B, torch.eye(2))
    others = [
        GLM("bernoulli", W, B),
        GLM("gaussian", W, B, 2.0),
        matrix,
        GLM("gaussian", W[:1], B[:1]),
    ]
    for other in others:
        with pytest.raises(ValueError, match=r"needs one family, dispersion and number of units"):
            plain.kl(other, X)
    with pytest.raises(ValueError, match=r"needs one family"):
        matrix.kl(GLM("gaussian", W, B, 2 * torch.eye(2)), X)
    assert matrix.kl(GLM("gaussian", W, B, torch.eye(2), norm="layer"), X).shape == (3,)


# --- what is refused ---------------------------------------------------------------------------------

REFUSED = {
    "family": ({"family": "normal"}, ValueError, r"family is 'normal'; use one of gaussian"),
    "norm": (
        {"norm": "group"},
        ValueError,
        r"norm is 'group'; use None, 'batch', 'weight', 'layer' or 'rms'",
    ),
    "W, a NumPy array": (
        {"W": np.ones((2, 2))},
        TypeError,
        r"W is of type ndarray; give a tensor, torch.as_tensor\(W\)",
    ),
    "b, a list": ({"b": [0.0, 0.0]}, TypeError, r"b is of type list; give a tensor"),
    "gain, a number": ({"norm": "layer", "gain": 1.0}, TypeError, r"gain is of type float; give a tensor"),
    "W of integers": (
        {"W": torch.ones(2, 2, dtype=torch.long)},
        TypeError,
        r"W is torch.int64; convert it to",
    ),
    "W in half": (
        {"W": W.half()},
        TypeError,
        r"W is torch.float16; convert it to torch.float32 or torch.float64",
    ),
    "b in double": ({"b": B.double()}, TypeError, r"b is torch.float64 and W torch.float32; convert one"),
    "gain in double": ({"norm": "rms", "gain": B.double()}, TypeError, r"gain is torch.float64 and W"),
    "shape of W": (
        {"W": torch.ones(2)},
        ValueError,
        r"W has shape \(2,\); give it as \(H, D\) with H, D >= 1",
    ),
    "no features": ({"W": torch.ones(2, 0)}, ValueError, r"W has shape \(2, 0\)"),
    "shape of b": (
        {"b": torch.ones(3)},
        ValueError,
        r"b has shape \(3,\) and W \(2, 2\); give one number a unit",
    ),
    "shape of gain": ({"norm": "layer", "gain": torch.ones(2, 1)}, ValueError, r"gain has shape \(2, 1\)"),
    "gain alone": ({"gain": torch.ones(2)}, ValueError, r"a gain was given without a norm"),
    "NaN in W": ({"W": W * math.nan}, ValueError, r"W contains NaN or infinity"),
    "inf in b": ({"b": B * math.inf}, ValueError, r"b contains NaN or infinity"),
    "NaN in gain": ({"norm": "layer", "gain": B * math.nan}, ValueError, r"gain contains NaN or infinity"),
    "zero row": (
        {"norm": "weight", "W": torch.tensor([[0.0, 0.0], [1.0, 0.0]])},
        ValueError,
        r"rows \[0\] of W are zero; weight norm divides by their length",
    ),
    "negative eps": (
        {"norm": "layer", "eps": -1e-5},
        ValueError,
        r"eps is -1e-05; it is added to a variance",
    ),
    "infinite eps": ({"norm": "layer", "eps": math.inf}, ValueError, r"eps is inf"),
    "eps without variance": (
        {"norm": "weight", "eps": 0.1},
        ValueError,
        r"no variance to add it to; leave it 0",
    ),
    "frozen layer": (
        {"norm": "layer", "frozen": True},
        ValueError,
        r"frozen statistics were given with norm 'layer'",
    ),
    "statistics, not frozen": (
        {"norm": "batch", "statistics": (B, B)},
        ValueError,
        r"frozen is False; set frozen=True",
    ),
    "zero variance": (
        {"norm": "batch", "frozen": True, "statistics": (B, torch.tensor([1.0, 0.0]))},
        ValueError,
        r"the frozen variance of units \[1\] is 0.* give eps > 0",
    ),
    "one statistic": (
        {"norm": "batch", "frozen": True, "statistics": (B,)},
        ValueError,
        r"statistics have 1 parts; give the mean and the variance",
    ),
    "shape of statistics": (
        {"norm": "batch", "frozen": True, "statistics": (B, torch.ones(3))},
        ValueError,
        r"the variance of statistics has shape \(3,\)",
    ),
    "dispersion": (
        {"dispersion": 0.0},
        ValueError,
        r"dispersion of gaussian outputs is 0.0; give a positive",
    ),
    "dispersion, text": (
        {"dispersion": "1"},
        TypeError,
        r"dispersion is of type str; give a float or an \(H, H\) tensor",
    ),
    "dispersion, an array": ({"dispersion": np.eye(2)}, TypeError, r"dispersion is of type ndarray"),
    "dispersion, 0-dimensional": (
        {"dispersion": torch.tensor(2.0)},
        ValueError,
        r"dispersion is a tensor of shape \(\); a number is a float",
    ),
    "size of dispersion": (
        {"dispersion": torch.eye(3)},
        ValueError,
        r"shape \(3, 3\).* tensor of shape \(2, 2\)",
    ),
    "type of dispersion": (
        {"dispersion": torch.eye(2).double()},
        TypeError,
        r"dispersion is torch.float64 and W",
    ),
    "singular dispersion": ({"dispersion": torch.ones(2, 2)}, ValueError, r"is no covariance"),
    "dispersion of coins": ({"family": "bernoulli", "dispersion": 2.0}, ValueError, r"leave it 1"),
    "trials": ({"trials": 3}, ValueError, r"trials is 3 for gaussian outputs"),
    "half a trial": ({"family": "binomial", "trials": 2.5}, ValueError, r"trials is 2.5"),
    "reference": ({"reference": True}, ValueError, r"only a categorical family has classes"),
    "device": ({"b": B.to("meta")}, ValueError, r"b is on meta and W on cpu; move one of them"),
}


@users_call
@pytest.mark.parametrize("what", REFUSED)
def test_what_makes_no_model_is_refused(what):
    changed, error, message = REFUSED[what]
    with pytest.raises(error, match=message):
        GLM(**{"family": "gaussian", "W": W, "b": B, **changed})


@users_call
@pytest.mark.parametrize(
    ("cases", "error", "message"),
    [
        (X.numpy(), TypeError, r"X is of type ndarray; give a tensor, torch.as_tensor\(X\) for instance"),
        (X[0], ValueError, r"X has shape \(2,\); give one row a case, at least one, of D = 2 features"),
        (X[:, :1], ValueError, r"X has shape \(3, 1\)"),
        (X[:0], ValueError, r"X has shape \(0, 2\)"),
        (X.double(), TypeError, r"X is torch.float64 and W torch.float32; convert one of them"),
        (X.long(), TypeError, r"X is torch.int64 and W torch.float32"),
        (
            X * torch.tensor([[1.0], [math.nan], [math.inf]]),
            ValueError,
            r"NaN or infinity in 2 of 3 cases; remove",
        ),
    ],
)
def test_features_that_do_not_fit_are_refused(cases, error, message):
    with pytest.raises(error, match=message):
        GLM("gaussian", W, B).natural(cases)


@users_call
@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        ([1.0, 1.0, 1.0], TypeError, r"weights are of type list; give a tensor with one number a case"),
        (
            torch.ones(2),
            ValueError,
            r"weights have shape \(2,\) and sum 2; give 3 finite numbers >= 0, one a case",
        ),
        (torch.tensor([1.0, -1.0, 1.0]), ValueError, r"sum 1; give 3 finite numbers >= 0"),
        (torch.zeros(3), ValueError, r"not all of them 0"),
        (torch.tensor([1.0, math.nan, 1.0]), ValueError, r"give 3 finite numbers"),
        (torch.tensor([1.0, math.inf, 1.0]), ValueError, r"give 3 finite numbers"),
    ],
)
def test_weights_that_are_no_distribution_are_refused(weights, error, message):
    with pytest.raises(error, match=message):
        GLM("gaussian", W, B).case_weights(X, weights)


@users_call
def test_counts_are_weights_too():
    share = GLM("gaussian", W, B).case_weights(X, torch.tensor([1, 0, 3]))
    assert share.tolist() == [0.25, 0, 0.75]
    assert share.dtype == torch.float32


def test_only_batch_norm_freezes_and_only_where_units_vary():
    with pytest.raises(ValueError, match=r"norm is 'layer'; only batch norm has statistics to freeze"):
        GLM("gaussian", W, B, norm="layer").freeze(X)
    constant = torch.ones(3, 2)
    with pytest.raises(ValueError, match=r"frozen variance of units \[0, 1\] is 0"):
        GLM("gaussian", W, B, norm="batch").freeze(constant)
    with pytest.raises(ValueError, match=r"frozen variance of units \[0, 1\] is 0"):
        GLM("gaussian", W, B, norm="batch", frozen=True).natural(constant)
    assert_close(
        GLM("gaussian", W, B, norm="batch", eps=0.1).freeze(constant).natural(constant), B.expand(3, 2)
    )


def test_the_public_name_is_this_class():
    assert lnlib.GLM is lnlib.glm.GLM

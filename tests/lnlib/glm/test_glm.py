"""GLMs with normalized summed inputs: parameters, statistics, distributions, and what they refuse."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from glms import NORMS, draw, model
from torch.testing import assert_close

from lnlib import GLM
from lnlib.norms.batch import batch_norm
from lnlib.norms.normalize import layer_norm, rms_norm, weight_norm

pytestmark = pytest.mark.grid

W, B = torch.tensor([[1.0, 2.0], [3.0, 5.0]]), torch.tensor([0.5, -0.5])
X = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
users_call = pytest.mark.usefixtures("as_users_call")


@pytest.mark.parametrize("norm", NORMS)
def test_parameters_come_unit_by_unit_and_unpacking_is_the_inverse(norm):
    plain, gain = GLM("gaussian", W, B, norm=norm), [] if norm is None else [1]  # unless others are given
    assert plain.theta.tolist() == [1, 2, 0.5, *gain, 3, 5, -0.5, *gain]
    assert (plain.gain is None) == (norm is None)
    glm, _ = model("gaussian", norm)
    assert torch.equal(glm.with_theta(glm.theta).theta, glm.theta)
    directions = draw(3, glm.theta.numel())  # three at a time
    assert torch.equal(glm.pack(*glm.unpack(directions)), directions)


@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_natural_parameters_are_those_of_the_normalizations(eps):
    glm, cases = model("gaussian", "batch", eps=eps)
    a, g, b = cases @ glm.W.mT, glm.gain, glm.b
    assert_close(glm.natural(cases), batch_norm(a, g, b, eps))
    for norm, expected in (("layer", layer_norm(a, g, b, eps)), ("rms", rms_norm(a, g, eps) + b)):
        assert_close(GLM("gaussian", glm.W, b, norm=norm, gain=g, eps=eps).natural(cases), expected)
    assert_close(GLM("gaussian", glm.W, b).natural(cases), a + b)
    assert_close(
        GLM("gaussian", glm.W, b, norm="weight", gain=g).natural(cases), cases @ weight_norm(glm.W, g).mT + b
    )


@users_call  # counts are integers
def test_weights_enter_the_statistics_of_batch_norm_and_no_other():
    times = torch.tensor([3, 1, 0, 2, 1])
    for norm in NORMS:
        glm, cases = model("gaussian", norm)
        repeated = glm.natural(cases.repeat_interleave(times, 0))
        rows = glm.natural(cases, times.to(cases.dtype)).repeat_interleave(times, 0)
        assert_close(rows, repeated, rtol=1e-13, atol=1e-13)
        same = torch.equal(glm.natural(cases, times.to(cases.dtype)), glm.natural(cases))
        assert same == (norm != "batch")
    assert glm.case_weights(cases, times).tolist() == [3 / 7, 1 / 7, 0, 2 / 7, 1 / 7]


def test_a_case_of_weight_zero_does_not_touch_the_statistics():
    glm, cases = model("gaussian", "batch")
    weights = torch.tensor([0.0, 1, 1, 1, 1], dtype=torch.float64)
    mean, var = glm.moments(cases, weights)
    cases[0] = 1e8
    assert_close(glm.moments(cases, weights), (mean, var), rtol=1e-12, atol=0)
    alone = torch.tensor([0.0, 0, 0, 0, 1], dtype=torch.float64)
    assert torch.equal(glm.natural(cases, alone)[4], glm.b)


def test_a_mean_far_from_zero_leaves_the_spread():
    one = torch.ones(1, 1, dtype=torch.float64)
    glm = GLM("gaussian", one, 0 * one[0], norm="batch")
    near = torch.tensor([[-1.0], [0.0], [1.0]], dtype=torch.float64)
    assert_close(glm.natural(near + 1e9), glm.natural(near), rtol=1e-12, atol=1e-12)


ROW = torch.tensor([[0.0, 0.0], [1.0, 0.0]])
REFUSED = {
    "family": ({"family": "normal"}, ValueError, r"family is 'normal'; use one of gaussian"),
    "norm": ({"norm": "group"}, ValueError, r"norm is 'group'; use None, 'batch', 'weight'"),
    "an array": ({"W": np.ones((2, 2))}, TypeError, r"W is of type ndarray; give a tensor"),
    "integers": ({"W": torch.ones(2, 2, dtype=torch.long)}, TypeError, r"W is of type torch.int64; give"),
    "b in double": ({"b": B.double()}, TypeError, r"b is of type torch.float64; give .* of torch.float32"),
    "shape of W": ({"W": torch.ones(2)}, ValueError, r"W has shape \(2,\); give it as \(H, D\)"),
    "no features": ({"W": torch.ones(2, 0)}, ValueError, r"W has shape \(2, 0\)"),
    "shape of b": ({"b": torch.ones(3)}, ValueError, r"b has shape \(3,\); give it as \(2,\)"),
    "shape of gain": ({"norm": "layer", "gain": torch.ones(2, 1)}, ValueError, r"gain has shape \(2, 1\)"),
    "gain alone": ({"gain": torch.ones(2)}, ValueError, r"a gain was given without a norm"),
    "NaN in W": ({"W": W * math.nan}, ValueError, r"W contains NaN or infinity"),
    "zero row": ({"norm": "weight", "W": ROW}, ValueError, r"weight norm divides by its length"),
    "eps of True": ({"norm": "layer", "eps": True}, ValueError, r"eps is True; it is added"),
    "negative eps": ({"norm": "layer", "eps": -1e-5}, ValueError, r"eps is -1e-05; it is added"),
    "eps without variance": ({"norm": "weight", "eps": 0.1}, ValueError, r"has no variance; leave it 0"),
    "dispersion": ({"dispersion": torch.eye(2)}, TypeError, r"dispersion is of type Tensor; give a float"),
    "dispersion of coins": ({"family": "bernoulli", "dispersion": 2.0}, ValueError, r"leave it 1"),
    "device": ({"b": B.to("meta")}, ValueError, r"b is on meta, the weights on cpu; move one of them"),
}


@users_call
@pytest.mark.parametrize("what", REFUSED)
def test_what_makes_no_model_is_refused(what):
    changed, error, message = REFUSED[what]
    with pytest.raises(error, match=message):
        GLM(**{"family": "gaussian", "W": W, "b": B, **changed})


NOT_FINITE = torch.tensor([[1.0], [math.nan], [math.inf]])
ANOTHER_KIND = r"needs one family, dispersion and number of units"
CALLS = [  # call, error, message
    (lambda glm: glm.natural(X.numpy()), TypeError, r"X is of type ndarray; give a tensor"),
    (lambda glm: glm.natural(X[0]), ValueError, r"X has shape \(2,\); give it as \(2, 2\)"),
    (lambda glm: glm.natural(X[:0]), ValueError, r"X has shape \(0, 2\); give it as \(1, 2\)"),
    (lambda glm: glm.mean(X[:, :1]), ValueError, r"X has shape \(3, 1\); give it as \(3, 2\)"),
    (lambda glm: glm.natural(X * NOT_FINITE), ValueError, r"X contains NaN or infinity"),
    (lambda glm: glm.with_theta(torch.zeros(7)), ValueError, r"7.*[;:,] \w+"),
    (lambda glm: glm.case_weights(X, torch.tensor([1, -1.0, 1])), ValueError, r"give 3 finite numbers"),
    (lambda glm: glm.case_weights(X, NOT_FINITE[[0, 1, 0], 0]), ValueError, r"give 3 finite numbers"),
    (lambda glm: glm.case_weights(X, NOT_FINITE[[0, 2, 0], 0]), ValueError, r"give 3 finite numbers"),
    (lambda glm: glm.case_weights(X, torch.zeros(3)), ValueError, r"not all of them 0"),
    (lambda glm: glm.case_weights(X, torch.ones(5)), ValueError, r"\(5,\) and sum 5; give 3 "),
    (lambda glm: glm.log_likelihood(X, [1.0]), TypeError, r"type list; make it one"),
    (lambda glm: glm.log_likelihood(X, torch.zeros(7, 8)), ValueError, r"\(7, 8\); give one a case"),
    (lambda glm: replace(glm, W=W * 1e37).mean(X * 1e3), ValueError, r"of gaussian outputs overflow torch.f"),
    (lambda glm: GLM("gamma", W, B).mean(X), ValueError, r"gamma outputs with the canonical link need z < 0"),
    (lambda glm: GLM("poisson", W, 1000 + 0 * B).mean(0 * X), ValueError, r"exp\(z\) overflows .* z = 1000"),
    (lambda glm: glm.kl(GLM("bernoulli", W, B), X), ValueError, ANOTHER_KIND),
    (lambda glm: glm.kl(GLM("gaussian", W, B, 2.0), X), ValueError, ANOTHER_KIND),
    (lambda glm: glm.kl(GLM("gaussian", W[:1], B[:1]), X), ValueError, ANOTHER_KIND),
]


@users_call
@pytest.mark.parametrize(("call", "error", "message"), CALLS, ids=[message for *_, message in CALLS])
def test_calls_that_do_not_fit_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(GLM("gaussian", W, B))

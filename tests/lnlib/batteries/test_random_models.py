"""Random calls of GLMs and their Fisher matrix: what fits is the formula in float64, the rest is refused."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from glms import FAMILIES, NORMS, fisher_from_definition, model, relative
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from lnlib import GLM
from lnlib.fisher import FisherOperator, fisher

# Some hundred roundings by 2**-24; a unit or case whose values hardly vary divides them by its deviation.
CLOSE = 1e-4
MEANS: dict[str, Callable[[GLM, Tensor], Tensor]] = {
    "gaussian": lambda glm, z: z,
    "bernoulli": lambda glm, z: 1 / (1 + torch.exp(-z)),
    "poisson": lambda glm, z: torch.exp(z),
    "gamma": lambda glm, z: -1 / z,
    "categorical": lambda glm, z: torch.exp(z) / torch.exp(z).sum(1, keepdim=True),
}


def doubled(glm: GLM) -> GLM:
    """The same model, from the same numbers, in float64."""
    gain = None if glm.gain is None else glm.gain.double()
    return replace(glm, W=glm.W.double(), b=glm.b.double(), gain=gain)


def natural(glm: GLM, X: Tensor) -> Tensor:
    """The paragraph above Eq. (13), literally."""
    a = X @ glm.W.T
    if glm.norm is None:
        return a + glm.b
    if glm.norm == "weight":
        a = a / glm.W.square().sum(1).sqrt()
    elif glm.norm == "rms":
        a = a / (a.square().mean(1, keepdim=True) + glm.eps).sqrt()
    else:
        over = 0 if glm.norm == "batch" else 1
        a = a - a.mean(over, keepdim=True)
        a = a / (a.square().mean(over, keepdim=True) + glm.eps).sqrt()
    return glm.gain * a + glm.b


@st.composite
def models(draw: st.DrawFn) -> tuple[GLM, Tensor]:
    """Any family with any norm, in either precision."""
    family, norm = draw(st.sampled_from(sorted(FAMILIES))), draw(st.sampled_from(NORMS))
    options: dict[str, Any] = {"N": draw(st.integers(2, 5)), "D": draw(st.integers(1, 3)), "H": 2}
    options |= {
        "dtype": draw(st.sampled_from([torch.float64, torch.float32])),
        "seed": draw(st.integers(0, 99)),
    }
    if norm not in (None, "weight"):
        options["eps"] = draw(st.sampled_from([0.01, 1.0]))
    return model(family, norm, **options)


@given(models())
def test_a_model_that_fits_has_the_formulas_means_and_matrix(drawn: tuple[GLM, Tensor]) -> None:
    glm, X = drawn
    exact, tolerance = doubled(glm), CLOSE if X.dtype == torch.float32 else 1e-11
    z = natural(exact, X.double())
    for found, expected in ((glm.natural(X), z), (glm.mean(X), MEANS[glm.family](exact, z))):
        assert_close(found, expected.to(X.dtype), rtol=tolerance, atol=tolerance)
    assert relative(fisher(glm, X).double(), fisher_from_definition(exact, X.double())) < 10 * tolerance


NO_NUMBER = st.sampled_from([-1.0, math.inf, math.nan, "a", None, True])
LENGTH = st.integers(0, 30)
# What is wrong, as a call of a model with its cases, drawn at random; and what the message must hold.
WRONG: dict[str, Callable[[GLM, Tensor, st.DataObject], tuple[Callable[[], Any], Any]]] = {}


def wrong(function: Callable) -> Callable:
    WRONG[function.__name__] = function
    return function


@wrong
def b_of_another_length(glm: GLM, X: Tensor, data: st.DataObject) -> Any:
    length = data.draw(LENGTH.filter(lambda n: n != len(glm.b)))
    return lambda: replace(glm, b=torch.ones(length, dtype=X.dtype)), (length,)


@wrong
def another_number_of_features(glm: GLM, X: Tensor, data: st.DataObject) -> Any:
    D = data.draw(LENGTH.filter(lambda n: n != X.shape[1]))
    return lambda: glm.mean(X.new_zeros(len(X), D)), (len(X), D)


@wrong
def eps_that_cannot_be_added(glm: GLM, X: Tensor, data: st.DataObject) -> Any:
    eps = data.draw(NO_NUMBER)
    return lambda: GLM("gaussian", glm.W, glm.b, norm="layer", eps=eps), eps


@wrong
def damping_that_is_not_positive(glm: GLM, X: Tensor, data: st.DataObject) -> Any:
    damping = data.draw(NO_NUMBER | st.just(0.0))
    return lambda: FisherOperator(glm, X).solve(glm.theta, damping), damping


@wrong
def a_vector_of_another_length(glm: GLM, X: Tensor, data: st.DataObject) -> Any:
    length = data.draw(LENGTH.filter(lambda n: n != len(glm.theta)))
    return lambda: FisherOperator(glm, X) @ X.new_zeros(length), (length,)


@wrong
def parameters_of_another_length(glm: GLM, X: Tensor, data: st.DataObject) -> Any:
    length = data.draw(LENGTH.filter(lambda n: n != len(glm.theta)))
    return lambda: glm.with_theta(X.new_zeros(length)), length


@wrong
def weights_of_another_number(glm: GLM, X: Tensor, data: st.DataObject) -> Any:
    length = data.draw(LENGTH.filter(lambda n: n != len(X)))
    return lambda: fisher(glm, X, X.new_ones(length)), (length,)


@wrong
def outcomes_that_are_no_tensor(glm: GLM, X: Tensor, data: st.DataObject) -> Any:
    y = data.draw(st.sampled_from([1.0, [1.0], None, X.numpy()]))
    return lambda: glm.log_likelihood(X, y), type(y).__name__


@wrong
def outcomes_of_another_shape(glm: GLM, X: Tensor, data: st.DataObject) -> Any:
    shape = tuple(data.draw(st.lists(st.integers(7, 9), min_size=1, max_size=3)))
    return lambda: glm.log_likelihood(X, X.new_zeros(shape)), shape


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize("what", WRONG)
@given(drawn=models(), data=st.data())
def test_a_wrong_call_is_refused_with_its_value_and_the_way_out(what: str, drawn: Any, data: Any) -> None:
    call, value = WRONG[what](*drawn, data)
    shown = re.escape(value if what == "outcomes_that_are_no_tensor" else repr(value))
    # what holds, the value, and after it what to do
    with pytest.raises((TypeError, ValueError), match=rf"(?s){shown}.*[;:,] \w+"):
        call()

"""Random GLMs and their Fisher matrix: what fits is the formula in float64, the rest is refused."""

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


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda glm, X: glm.mean(X[:, :2]), r"\(4, 2\); give it as"),
        (lambda glm, X: GLM("gaussian", glm.W, glm.b, norm="layer", eps=True), r"eps is True; it is added"),
        (lambda glm, X: glm.with_theta(X.new_zeros(7)), r"7.*[;:,] \w+"),
        (lambda glm, X: FisherOperator(glm, X) @ X.new_zeros(7), r"\(7,\).*[;:,] \w+"),
        (lambda glm, X: FisherOperator(glm, X).solve(glm.theta, "a"), r"damping is 'a'; F is singular"),
        (lambda glm, X: fisher(glm, X, X.new_ones(5)), r"\(5,\) and sum 5; give 4 "),
        (lambda glm, X: glm.log_likelihood(X, [1.0]), r"type list; make it one"),
        (lambda glm, X: glm.log_likelihood(X, X.new_zeros(7, 8)), r"\(7, 8\); give one a case"),
    ],
)
def test_a_wrong_call_is_refused_with_its_value_and_the_way_out(call, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        call(*model("gaussian", "layer", N=4, D=3, H=2))

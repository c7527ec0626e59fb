"""Random calls of every normalization: each gives the formula in float64."""

import inspect
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

import lnlib

NAMES = ["layer_norm", "rms_norm", "batch_norm", "group_norm", "instance_norm", "weight_norm"]
# Numbers 1000 deviations from zero lose 10 of the 53 or 24 bits that they are computed in, and some 20 sums
# and products round; gains are up to 4. Half precision is rounded once, at the end.
CLOSE = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@st.composite
def calls(draw: st.DrawFn, name: str) -> tuple[Tensor, dict[str, Any], int]:
    """Any shape, dtype and layout, means up to a thousand deviations from zero; options; the units' axis."""
    takes = inspect.signature(getattr(lnlib, name)).parameters
    least = 1 if "dim" in takes else 3 if name == "instance_norm" else 2
    shape = draw(st.lists(st.integers(1, 5), min_size=least, max_size=4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    normal = partial(torch.randn, generator=generator, dtype=torch.float64)
    offset, scale = draw(st.sampled_from([0.0, 3.0, -1e3])), draw(st.sampled_from([1.0, 1e-3, 10.0]))
    a = (scale * (normal(shape) + offset)).to(draw(st.sampled_from([*CLOSE])))
    layout = draw(st.sampled_from(["dense", "turned", "every other", "expanded"]))
    if layout == "turned":
        a = a.movedim(0, -1).contiguous().movedim(-1, 0)
    if layout == "every other":
        a = torch.stack([a, a + 1], -1)[..., 0]
    if layout == "expanded":
        a = a.narrow(0, 0, 1).expand(a.shape)
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    axis = dim if "dim" in takes else int(name != "weight_norm")
    gain, bias = (normal(shape[axis]).to(a.dtype) if draw(st.booleans()) else None for _ in range(2))
    groups = draw(st.sampled_from([k for k in range(1, 6) if shape[axis] % k == 0]))
    eps = draw(st.sampled_from([0.0, 1e-5, 1e-2, 1.0]))
    options = {"gain": gain, "bias": bias, "eps": eps, "dim": dim, "groups": groups}
    return a, {option: value for option, value in options.items() if option in takes}, axis


def formula(name: str, a: Tensor, options: dict[str, Any], axis: int) -> Tensor:
    """Eq. (2), Eq. (3) or its relative in float64, from the numbers as they are; 0 / 0 is 0."""
    d, over = a.double(), [axis]
    if name == "group_norm":
        d, over = d.reshape(len(a), options["groups"], -1), [2]
    elif "dim" not in options:
        over = [other for other in range(2 if name == "instance_norm" else 0, a.ndim) if other != axis]
    if name not in ("rms_norm", "weight_norm"):
        origin = d  # one number of each set: a mean far from zero would leave its rounding
        for other in over:
            origin = origin.narrow(other, 0, 1)
        d = d - origin
        d = d - d.mean(over, keepdim=True)
    power = d.square().sum(over, keepdim=True)
    if name != "weight_norm":
        power = d.square().mean(over, keepdim=True) + options["eps"]
    out = torch.where(power > 0, d / power.sqrt(), 0.0).reshape(a.shape)
    column = [1] * a.ndim
    column[axis] = -1
    gain, bias = options["gain"], options.get("bias")
    out = out if gain is None else out * gain.double().view(column)
    return out if bias is None else out + bias.double().view(column)


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_a_call_gives_the_formulas_value(name: str, data: st.DataObject) -> None:
    a, options, axis = data.draw(calls(name))
    before, tolerance = a.clone(), CLOSE[a.dtype]
    expected = formula(name, a, options, axis).to(a.dtype)
    assert_close(getattr(lnlib, name)(a, **options), expected, rtol=tolerance, atol=tolerance)
    assert torch.equal(a, before)

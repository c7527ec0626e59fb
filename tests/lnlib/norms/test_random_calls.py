"""Random calls of every normalization: each gives the value of the formula in float64."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

import lnlib

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
LAYERS: dict[str, Callable[..., nn.Module]] = {
    "layer_norm": lambda size, c: lnlib.LayerNorm(size, c.eps, dtype=c.a.dtype),
    "rms_norm": lambda size, c: lnlib.RMSNorm(size, c.eps, dtype=c.a.dtype),
    "batch_norm": lambda size, c: lnlib.BatchNorm(size, c.eps, track_running_stats=False, dtype=c.a.dtype),
    "group_norm": lambda size, c: lnlib.GroupNorm(c.groups, size, c.eps, dtype=c.a.dtype),
    "instance_norm": lambda size, c: lnlib.InstanceNorm(size, c.eps, affine=True, dtype=c.a.dtype),
}
OF_ONE_AXIS = ("layer_norm", "rms_norm")
LEAST_AXES = dict.fromkeys(OF_ONE_AXIS, 1) | {"instance_norm": 3}

# Numbers 1000 deviations from zero lose 10 of the 53 or 24 bits that they are computed in, and some 20 sums
# and products round; gains are up to 4. Half precision is rounded once, at the end.
CLOSE = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


@dataclass(frozen=True)
class Call:
    """One call of a function by its name in lnlib."""

    name: str
    a: Any
    gain: Any
    bias: Any
    eps: Any
    dim: Any
    groups: Any

    @property
    def axis(self) -> int:
        """Where the units are, one for each entry of gain and bias."""
        return self.dim if self.name in OF_ONE_AXIS else int(self.name != "weight_norm")

    def arguments(self) -> dict[str, Any]:
        """Those that the function has."""
        has = {"gain": self.gain}
        if self.name not in ("rms_norm", "weight_norm"):
            has["bias"] = self.bias
        if self.name != "weight_norm":
            has["eps"] = self.eps
        if self.name in OF_ONE_AXIS:
            has["dim"] = self.dim
        return has | ({"groups": self.groups} if self.name == "group_norm" else {})

    def run(self) -> Tensor:
        return getattr(lnlib, self.name)(self.a, **self.arguments())

    def layer(self) -> Tensor:
        """The same by the layer of that name: those of one axis have it at the end."""
        module = LAYERS[self.name](self.a.shape[self.axis], self)
        with torch.no_grad():
            for name, value in (("weight", self.gain), ("bias", self.bias)):
                if getattr(module, name, None) is not None:
                    getattr(module, name).copy_(float(name == "weight") if value is None else value)
        end = (self.dim, -1) if self.name in OF_ONE_AXIS else (0, 0)
        return module(self.a.movedim(*end)).movedim(*reversed(end))

    def formula(self) -> Tensor:
        """Eq. (2), Eq. (3) or its relative in float64, from the numbers as they are."""
        a, over = self.a.double(), [self.dim]
        if self.name == "group_norm":
            a, over = a.reshape(len(a), self.groups, -1), [2]
        elif self.name not in OF_ONE_AXIS:
            of_cases = range(2 if self.name == "instance_norm" else 0, a.ndim)
            over = [axis for axis in of_cases if axis != self.axis]
        out = standardized(a, over, self).reshape(self.a.shape)
        column = [1] * out.ndim
        column[self.axis] = -1
        has = self.arguments()
        out = out if has["gain"] is None else out * has["gain"].double().view(column)
        return out if has.get("bias") is None else out + has["bias"].double().view(column)


def standardized(a: Tensor, over: list[int], call: Call) -> Tensor:
    """The formula without gain and bias; 0 where there is nothing to divide by."""
    if call.name == "weight_norm":
        square = a.square().sum(over, keepdim=True)
    elif call.name == "rms_norm":
        square = a.square().mean(over, keepdim=True) + call.eps
    else:
        origin = a  # one number of each set: a mean far from zero would leave its rounding
        for axis in over:
            origin = origin.narrow(axis, 0, 1)
        a = a - origin
        a = a - a.mean(over, keepdim=True)
        square = a.square().mean(over, keepdim=True) + call.eps
    return torch.where(square > 0, a / square.sqrt(), 0.0)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    """Any shape, dtype, layout, parameters, and means up to a thousand deviations from zero."""
    name = draw(st.sampled_from([*LAYERS, "weight_norm"]))
    shape = draw(st.lists(st.integers(1, 5), min_size=LEAST_AXES.get(name, 2), max_size=4))
    dtype = draw(st.sampled_from(DTYPES))
    seed = torch.Generator().manual_seed(draw(st.integers(0, 999)))
    a = torch.randn(shape, generator=seed, dtype=torch.float64)
    offset, scale = draw(st.sampled_from([0.0, 3.0, -1e3])), draw(st.sampled_from([1.0, 1e-3, 10.0]))
    a = (scale * (a + offset)).to(dtype)
    layout = draw(st.sampled_from(["dense", "turned", "every other", "expanded"]))
    if layout == "turned":
        a = a.movedim(0, -1).contiguous().movedim(-1, 0)
    if layout == "every other":
        a = torch.stack([a, a + 1], -1)[..., 0]
    if layout == "expanded":
        a = a.narrow(0, 0, 1).expand(a.shape)
    eps = draw(st.sampled_from([0.0, 1e-5, 1e-2, 1.0]))
    dim = draw(st.integers(-len(shape), len(shape) - 1))
    divisors = [k for k in range(1, 6) if len(shape) > 1 and shape[1] % k == 0]
    call = Call(name, a, None, None, eps, dim, draw(st.sampled_from(divisors or [1])))
    gain, bias = (
        torch.randn(shape[call.axis], generator=seed, dtype=torch.float64).to(dtype) for _ in range(2)
    )
    keep = draw(st.tuples(st.booleans(), st.booleans()))
    return replace(call, gain=gain if keep[0] else None, bias=bias if keep[1] else None)


@given(calls())
def test_a_call_that_fits_gives_the_formulas_value(call: Call) -> None:
    before, tolerance = call.a.clone(), CLOSE[call.a.dtype]
    expected = call.formula().to(call.a.dtype)
    for out in [call.run()] + ([call.layer().detach()] if call.name in LAYERS else []):
        assert_close(out, expected, rtol=tolerance, atol=tolerance)
    assert torch.equal(call.a, before)

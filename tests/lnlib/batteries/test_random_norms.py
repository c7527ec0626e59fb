"""Random calls of every normalization: what fits gives the formula's value, and what does not is refused."""

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from norm_calls import LAYERS, LEAST_AXES, OF_ONE_AXIS, Call, calls
from torch.testing import assert_close

import lnlib

# Numbers 1000 deviations from zero lose 10 of the 53 or 24 bits that they are computed in, and some 20 sums
# and products round; gains are up to 4. Half precision is rounded once, at the end.
CLOSE = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
NO_EPS = st.sampled_from([-1e-5, -math.inf, math.inf, math.nan, "a", None, True, 1j, [1.0]])


def test_every_normalization_is_called() -> None:
    functions = {name for name in lnlib.__all__ if name.endswith("_norm")}
    assert functions == {*LAYERS, "weight_norm"}


@given(calls())
def test_a_call_that_fits_gives_the_formulas_value(call: Call) -> None:
    before, tolerance = call.a.clone(), CLOSE[call.a.dtype]
    expected = call.formula().to(call.a.dtype)
    for out in [call.run()] + ([call.layer().detach()] if call.name in LAYERS else []):
        assert_close(out, expected, rtol=tolerance, atol=tolerance)
    assert torch.equal(call.a, before)


# How a call is spoiled, for the functions named: what is wrong in it, and the words that say so.
Spoiled = tuple[dict[str, Any], str]
ALL, WITH_EPS = {*LAYERS, "weight_norm"}, {*LAYERS}
SPOILERS: dict[str, tuple[set[str], Callable[[Call, st.DataObject], Spoiled]]] = {}


def spoils(names: set[str]) -> Callable[[Callable], Callable]:
    def register(spoiler: Callable) -> Callable:
        SPOILERS[spoiler.__name__] = names, spoiler
        return spoiler

    return register


@spoils(ALL)
def gain_of_another_length(call: Call, data: st.DataObject) -> Spoiled:
    length = data.draw(st.integers(0, 9).filter(lambda n: n != call.a.shape[call.axis]))
    return {"gain": torch.ones(length)}, f"gain .* {re.escape(str((length,)))}"


@spoils(ALL - {"rms_norm", "weight_norm"})
def bias_of_another_shape(call: Call, data: st.DataObject) -> Spoiled:
    shape = (*data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)), call.a.shape[call.axis])
    return {"bias": torch.ones(shape)}, f"bias .* {re.escape(str(shape))}"


@spoils(ALL)
def gain_that_is_no_tensor(call: Call, data: st.DataObject) -> Spoiled:
    value = data.draw(st.sampled_from([1.0, [1.0], "a", torch.ones(3).numpy()]))
    return {"gain": value}, f"gain .* {type(value).__name__}"


@spoils(ALL)
def gain_that_is_complex(call: Call, data: st.DataObject) -> Spoiled:
    return {"gain": torch.ones(call.a.shape[call.axis]).cfloat()}, "gain .* torch.complex64"


@spoils(WITH_EPS)
def eps_that_cannot_be_added(call: Call, data: st.DataObject) -> Spoiled:
    eps = data.draw(NO_EPS)
    return {"eps": eps}, f"eps .* {re.escape(repr(eps))}"


@spoils(ALL)
def numbers_without_fractions(call: Call, data: st.DataObject) -> Spoiled:
    dtype = data.draw(
        st.sampled_from([torch.int64, torch.uint8, torch.bool, torch.cfloat, torch.float8_e5m2])
    )
    return {"a": call.a.to(dtype)}, f"floating point .* {dtype}"


@spoils(ALL)
def input_that_is_no_tensor(call: Call, data: st.DataObject) -> Spoiled:
    value = data.draw(st.sampled_from([1.0, None, "a", call.a.float().tolist(), call.a.float().numpy()]))
    return {"a": value}, f"input .* {type(value).__name__}"


@spoils({*OF_ONE_AXIS})
def dim_that_is_no_axis(call: Call, data: st.DataObject) -> Spoiled:
    axes = st.integers(-9, 9).filter(lambda dim: not -call.a.ndim <= dim < call.a.ndim)
    dim = data.draw(axes | st.sampled_from([0.0, None, "0", True]))
    return {"dim": dim}, f"dim .* {re.escape(repr(dim))}"


@spoils({"group_norm"})
def groups_that_do_not_divide(call: Call, data: st.DataObject) -> Spoiled:
    channels = call.a.shape[1]
    numbers = st.integers(-3, 9).filter(lambda k: k < 1 or channels % k)
    groups = data.draw(numbers | st.sampled_from([1.0, None, "1", True]))
    return {"groups": groups}, f"groups .* {re.escape(repr(groups))}"


@spoils(ALL)
def nothing_to_average(call: Call, data: st.DataObject) -> Spoiled:
    shape = [*call.a.shape]
    shape[call.axis if call.name in OF_ONE_AXIS else data.draw(st.integers(1, len(shape) - 1))] = 0
    return {"a": call.a.new_zeros(shape)}, f"no mean of 0 .* {re.escape(str(tuple(shape)))}"


@spoils(ALL - {*OF_ONE_AXIS})
def too_few_axes(call: Call, data: st.DataObject) -> Spoiled:
    shape = tuple(call.a.shape[: LEAST_AXES.get(call.name, 2) - 1])
    return {"a": call.a.new_zeros(shape)}, f"axes .* {re.escape(str(shape))}"


@pytest.mark.usefixtures("as_users_call")
@pytest.mark.filterwarnings("ignore:Casting complex values to real:UserWarning")
@pytest.mark.parametrize("spoiler", SPOILERS)
@given(data=st.data())
def test_a_spoiled_call_is_refused_by_name_value_and_way_out(spoiler: str, data: st.DataObject) -> None:
    names, spoil = SPOILERS[spoiler]
    call = data.draw(calls(st.sampled_from(sorted(names))))
    changes, words = spoil(call, data)
    with pytest.raises((TypeError, ValueError), match=rf"(?s)^{call.name}: .*{words}.*; \w+"):
        replace(call, **changes).run()

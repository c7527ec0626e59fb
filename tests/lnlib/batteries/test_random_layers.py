"""Random inputs that a layer was not built for, refused with the size it has, the input's and the way out."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

import lnlib

# A layer for so many units, and which axis of its input has them.
LAYERS: dict[str, tuple[Callable[[int], nn.Module], int]] = {
    "LayerNorm": (lnlib.LayerNorm, -1),
    "RMSNorm": (lnlib.RMSNorm, -1),
    "WeightNormLinear": (lambda units: lnlib.WeightNormLinear(units, 2), -1),
    "BatchNorm": (lnlib.BatchNorm, 1),
    "GroupNorm": (lambda units: lnlib.GroupNorm(1, units), 1),
    "InstanceNorm": (lnlib.InstanceNorm, 1),
}
every_layer = pytest.mark.parametrize("name", LAYERS)
pytestmark = pytest.mark.usefixtures("as_users_call")


def test_every_layer_is_called() -> None:
    public = [getattr(lnlib, name) for name in lnlib.__all__ if name not in ("RNN", "LSTM", "GRU")]
    modules = {c.__name__ for c in public if isinstance(c, type) and issubclass(c, nn.Module)}
    assert modules == {*LAYERS}


@every_layer
@given(data=st.data(), units=st.integers(1, 6))
def test_another_size_than_the_layers_is_refused(name: str, data: st.DataObject, units: int) -> None:
    make, axis = LAYERS[name]
    shape = data.draw(st.lists(st.integers(1, 4), min_size=3, max_size=4))
    shape[axis] = data.draw(st.integers(0, 9).filter(lambda size: size != units))
    sizes = rf"\b{units}\b.*{re.escape(str(tuple(shape)))}; \w+"
    with pytest.raises(ValueError, match=sizes):
        make(units)(torch.zeros(shape))


@every_layer
@given(value=st.sampled_from([None, 1.0, "a", [[1.0, 2.0]], torch.zeros(2, 2).numpy()]))
def test_what_is_no_tensor_is_refused(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=rf"input must be a tensor, .* {type(value).__name__}; \w+"):
        LAYERS[name][0](2)(value)


@given(st.integers(1, 6), st.sampled_from([0, -1, 7]))
def test_groups_that_do_not_divide_the_channels_are_refused(channels: int, groups: int) -> None:
    with pytest.raises(ValueError, match=rf"{groups}|{channels}"):
        lnlib.GroupNorm(groups, channels)(torch.zeros(2, channels))


def formula(layer: nn.Module, x: Tensor) -> Tensor:
    """Rows of the given lengths, and Eq. (5) as it stands."""
    v = layer.weight_v
    return x @ (v * (layer.weight_g / v.square().sum(1, keepdim=True).sqrt())).T + layer.bias


@given(st.integers(1, 5), st.integers(1, 5), st.lists(st.integers(0, 3), max_size=2), st.integers(0, 999))
def test_a_weight_normalized_layer_is_its_formula(D: int, H: int, cases: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    layer, x = lnlib.WeightNormLinear(D, H), torch.randn(*cases, D)
    nn.init.normal_(layer.weight_g)
    found, exact = layer(x), formula(layer.double(), x.double())
    assert_close(found, exact.float(), rtol=1e-5, atol=1e-5)  # sums of up to 5 products in float32

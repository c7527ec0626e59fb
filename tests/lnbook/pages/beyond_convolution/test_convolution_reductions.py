"""The five normalizations against their definition, and against torch's layers."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lnbook.pages.beyond_convolution.reductions import FIVE, against_torch, axes, means, normalize

LAYOUTS = ("NCHW", "NHWC", "NTC", "NCT", "HWNC")
SIZES = {"N": 3, "C": 4, "H": 2, "W": 5, "T": 6}


def draw(layout: str, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn([SIZES[axis] for axis in layout], generator=generator, dtype=torch.float64)


def by_loops(a: torch.Tensor, norm: str, layout: str, groups: int) -> torch.Tensor:
    """Every value with the values that share its letters outside `over`, one at a time."""
    out, over = torch.empty_like(a), FIVE[norm].over
    size = SIZES["C"] // groups
    for place in torch.cartesian_prod(*(torch.arange(n) for n in a.shape)).tolist():
        index = []
        for k, axis in enumerate(layout):
            inside = (axis if axis in "NC" else "P") in over
            part = slice(None) if inside else slice(place[k], place[k] + 1)
            if norm == "group" and axis == "C":
                part = slice(place[k] // size * size, (place[k] // size + 1) * size)
            index.append(part)
        values = a[tuple(index)]
        value = a[tuple(place)]
        out[tuple(place)] = (value - values.mean()) / (values.var(correction=0) + 1e-5).sqrt()
    return out


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("norm", FIVE)
def test_each_value_is_normalized_by_its_set_in_any_layout(norm, layout):
    a = draw(layout)
    torch.testing.assert_close(normalize(a, norm, layout), by_loops(a, norm, layout, 2), rtol=0, atol=1e-12)


@pytest.mark.parametrize("norm", ["batch", "layer", "instance", "channels"])
@given(layout=st.sampled_from(LAYOUTS))
def test_a_mean_over_the_axes_is_what_the_name_says(norm, layout):
    a, dims = draw(layout), axes(FIVE[norm].over, layout)
    d = a - a.mean(dims, keepdim=True)
    expected = d / d.square().mean(dims, keepdim=True).sqrt()
    torch.testing.assert_close(normalize(a, norm, layout, eps=0.0), expected, rtol=0, atol=1e-12)
    assert a.mean(dims).numel() == means(norm, a.shape, layout)


@pytest.mark.parametrize("norm", FIVE)
def test_values_and_gradients_are_those_of_torchs_layers(norm):
    channels = SIZES["C"]
    layer = {
        "batch": nn.BatchNorm2d(channels),
        "layer": nn.GroupNorm(1, channels),
        "instance": nn.InstanceNorm2d(channels, affine=True),
        "group": nn.GroupNorm(2, channels),
        "channels": nn.LayerNorm(channels),
    }[norm].double()
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(draw("C", seed=1) + 2)
    results = []
    for run in (
        lambda a: normalize(a, norm, gain=layer.weight, bias=layer.bias),
        lambda a: layer(a.permute(0, 2, 3, 1)).permute(0, 3, 1, 2) if norm == "channels" else layer(a),
    ):
        a = draw("NCHW").requires_grad_()
        out = run(a)
        grads = torch.autograd.grad((out * draw("NCHW", seed=2)).sum(), [a, *layer.parameters()])
        results.append([out, *grads])
    torch.testing.assert_close(*results, rtol=0, atol=1e-12)  # rounding of float64


def test_against_torch_finds_the_right_layer_and_no_other():
    layers = {
        "batch": nn.BatchNorm2d(4),
        "layer": nn.GroupNorm(1, 4),
        "instance": nn.InstanceNorm2d(4),
        "group": nn.GroupNorm(2, 4),
    }
    for norm in layers:
        found = {n: against_torch(draw("NCHW"), norm, layer.double()) for n, layer in layers.items()}
        assert [n for n, off in found.items() if off < 1e-12] == [norm]  # rounding of float64


def test_no_two_of_the_five_agree():
    outputs = [normalize(draw("NCHW"), norm) for norm in FIVE]
    distances = [float((one - two).norm()) for k, one in enumerate(outputs) for two in outputs[:k]]
    assert min(distances) > 1


def test_group_norm_has_the_others_as_ends():
    a = draw("NCHW")
    torch.testing.assert_close(normalize(a, "group", groups=1), normalize(a, "layer"))
    torch.testing.assert_close(normalize(a, "group", groups=SIZES["C"]), normalize(a, "instance"))


@pytest.mark.parametrize("layout", ["NHW", "CHW", "NC", "NCHH", ""])
def test_a_layout_needs_cases_channels_and_positions(layout):
    with pytest.raises(ValueError, match="each once, and this is"):
        axes("C", layout)


def test_a_layout_that_does_not_fit_and_an_unknown_norm_are_refused():
    with pytest.raises(ValueError, match="'NTC' has 3 for shape"):
        normalize(draw("NCHW"), "layer", "NTC")
    with pytest.raises(ValueError, match="no normalization 'weight'; choose one of"):
        normalize(draw("NCHW"), "weight")

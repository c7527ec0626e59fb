"""The five normalizations against their definition, and against torch's layers."""

import pytest
import torch
from torch import nn

from lnbook.pages.beyond_convolution.reductions import FIVE, against_torch, normalize

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
    assert against_torch(draw("NCHW"), "channels", nn.LayerNorm(4).double()) < 1e-12


def test_group_norm_has_the_others_as_ends():
    a = draw("NCHW")
    torch.testing.assert_close(normalize(a, "group", groups=1), normalize(a, "layer"))
    torch.testing.assert_close(normalize(a, "group", groups=SIZES["C"]), normalize(a, "instance"))

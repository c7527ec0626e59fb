"""The five normalizations against their definition, and against torch's layers."""

import pytest
import torch

from lnbook.pages.beyond_convolution.reductions import FIVE, normalize

LAYOUTS = ("NCHW", "NHWC", "NTC", "NCT", "HWNC")
SIZES = {"N": 3, "C": 4, "H": 2, "W": 5, "T": 6}


def by_loops(a: torch.Tensor, norm: str, layout: str) -> torch.Tensor:
    """Every value with the values that share its letters outside `over`, one at a time; two groups."""
    out, over, size = torch.empty_like(a), FIVE[norm].over, SIZES["C"] // 2
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
    generator = torch.Generator().manual_seed(0)
    a = torch.randn([SIZES[axis] for axis in layout], generator=generator, dtype=torch.float64)
    torch.testing.assert_close(normalize(a, norm, layout), by_loops(a, norm, layout), rtol=0, atol=1e-12)

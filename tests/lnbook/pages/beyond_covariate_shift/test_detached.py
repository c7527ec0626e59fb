"""Layer norm with detached statistics: the same outputs, and a gradient without the projections."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.pages.beyond_covariate_shift.detached import detached_layer_norm
from lnlib import layer_norm

CHOICES = [(), ("mean",), ("std",), ("mean", "std")]


def draw(seed: int, *shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("detach", CHOICES)
@given(seed=st.integers(0, 1000), H=st.integers(3, 12), eps=st.sampled_from([0.0, 1e-5, 0.3]))
def test_outputs_are_layer_norms_and_the_gradient_is_the_formula(detach, seed, H, eps) -> None:
    a, delta = draw(seed, 4, H).requires_grad_(), draw(seed + 1, 4, H)
    out = detached_layer_norm(a, eps, detach)
    torch.testing.assert_close(out, layer_norm(a, eps=eps))
    hat, std = out.detach(), (a.detach().var(-1, correction=0, keepdim=True) + eps).sqrt()
    expected = delta.clone()
    if "mean" not in detach:
        expected -= delta.mean(-1, keepdim=True)
    if "std" not in detach:  # eps under the root leaves part of the direction a-hat
        expected -= hat * (hat * delta).mean(-1, keepdim=True)
    (found,) = torch.autograd.grad(out, a, delta)
    # a case of three near-equal units is divided by a small deviation, and its rounding with it
    torch.testing.assert_close(found, expected / std, rtol=1e-8, atol=1e-8)

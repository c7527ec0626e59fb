"""How far a layer is from every plain one."""

import torch

from lnbook.pages.sec4_related_work.plain_weights import affine_misfit
from lnlib.norms.normalize import layer_norm


def test_the_misfit_is_zero_for_affine_maps_and_not_for_layer_norm() -> None:
    draw = {"generator": torch.Generator().manual_seed(0), "dtype": torch.float64}
    x, W = torch.randn(200, 3, **draw), torch.randn(6, 3, **draw)
    assert affine_misfit(x, x @ W.T + 1) < 1e-20  # squares of roundings
    assert affine_misfit(x, layer_norm(x @ W.T)) > 1

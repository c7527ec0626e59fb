"""First weights that networks with and without the norm share."""

import torch

from lnbook.shared.studies import NORMS, begin
from lnlib import LSTM


def test_networks_with_and_without_the_norm_begin_with_the_same_weights():
    models = [LSTM(3, 8, norm=norm) for norm in NORMS]
    for model in models:
        begin(model, 8, torch.Generator().manual_seed(0))
    plain, normed = (dict(model.named_parameters()) for model in models)
    assert set(plain) < set(normed)
    for name, parameter in normed.items():
        kind = name.split("_")[0]
        if kind == "weight":
            assert torch.equal(parameter, plain[name])
            assert 0.9 * 8**-0.5 < parameter.abs().max() <= 8**-0.5  # 96 draws at least: the largest is near
        else:
            assert torch.equal(parameter, torch.full_like(parameter, float(kind == "gain")))

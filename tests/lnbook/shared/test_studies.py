"""First weights: that networks with and without a norm share them is tested of every experiment."""

import torch

from lnbook.shared.studies import begin
from lnlib import LSTM


def test_first_weights_are_uniform_gains_one_and_biases_zero():
    model = LSTM(3, 8, norm="layer")
    begin(model, 8, torch.Generator().manual_seed(0))
    for name, parameter in model.named_parameters():
        if name.startswith("weight"):
            assert 0.9 * 8**-0.5 < parameter.abs().max() <= 8**-0.5  # 96 draws at least: the largest is near
        else:
            assert torch.equal(parameter, torch.full_like(parameter, float(name.startswith("gain"))))

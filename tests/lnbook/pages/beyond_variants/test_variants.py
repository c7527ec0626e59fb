"""One set of weights in several variants: what agrees, what is seen, what is remembered."""

import torch
from torch import Tensor

from lnbook.pages.beyond_variants import measure

D, H = 5, 8


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def randn(*shape: int, seed: int = 1) -> Tensor:
    return torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def test_separate_and_joint_norms_agree_on_the_first_step_from_zero_and_not_on_the_second() -> None:
    weights = measure.random_lstm(D, H, generator(), spread=0.3)
    networks = [measure.as_variant(weights, variant=v) for v in ("paper", "joint")]
    x = randn(2, 4, D)
    assert measure.distances(networks, x[:1])[0, 1] < 1e-14  # a few roundings of numbers of size 1
    assert measure.distances(networks, x)[0, 1] > 0.05


def test_one_component_leaves_separate_norms_nothing_but_its_sign() -> None:
    weights, x = measure.random_lstm(1, H, generator(), spread=0.3), randn(20, 4, 1)
    for scheme, blind in (("separate", True), ("joint", False), ("separate, bias inside", False)):
        variant = measure.SCHEMES[scheme]
        lstm = measure.as_variant(weights, **measure.settings(variant, 0.0))
        with torch.no_grad():
            whole, signs = lstm(x)[0], lstm(x.sign())[0]
        change = float((whole - signs).norm() / whole.norm())
        assert (change < 1e-11) == blind, scheme  # W_x x is as small as 1e-3 at times: its digits suffer

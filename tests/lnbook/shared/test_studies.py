"""The runs of studies, and first weights that networks with and without the norm share."""

from dataclasses import dataclass

import torch

from lnbook.shared.studies import NORMS, begin, jobs_of
from lnlib import LSTM


@dataclass(frozen=True)
class Study:
    units: int
    seeds: int
    norms: tuple[str, ...] = NORMS


def test_every_norm_of_every_seed_is_a_run_and_seeds_are_outermost():
    jobs = jobs_of([Study(8, seeds=2), Study(16, seeds=1, norms=("layer",))], seed=5)
    runs = [(8, 5, "none"), (8, 5, "layer"), (8, 6, "none"), (8, 6, "layer"), (16, 5, "layer")]
    assert jobs == [dict(zip(("units", "seed", "norm"), run, strict=True)) for run in runs]


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

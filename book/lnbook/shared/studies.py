"""Studies that compare networks with a norm to the same ones without: their runs, their first weights."""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import product
from typing import Any

import torch
from torch import nn

from lnbook.training.task import Job

NORMS = ("none", "layer")


def jobs_of(studies: Iterable[Any], seed: int) -> list[Job]:
    """The runs of dataclasses with `seeds` and perhaps `norms` and `rates`; other fields are settings."""
    found: list[Job] = []
    for study in studies:
        settings = asdict(study)
        seeds, norms = settings.pop("seeds"), settings.pop("norms", NORMS)
        steps = [{"rate": rate} for rate in settings.pop("rates")] if "rates" in settings else [{}]
        for k, norm, step in product(range(seeds), norms, steps):
            found.append({"norm": norm, **settings, **step, "seed": seed + k})
    return found


def begin(model: nn.Module, units: int, generator: torch.Generator) -> None:
    """First weights, alike with and without a norm: uniform within 1 / sqrt(units), gains 1, biases 0."""
    for name, parameter in model.named_parameters():
        kind = name.rpartition(".")[2]
        if kind.startswith("weight"):
            nn.init.uniform_(parameter, -(units**-0.5), units**-0.5, generator=generator)
        else:
            nn.init.constant_(parameter, float(kind.startswith("gain")))

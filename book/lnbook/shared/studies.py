"""Studies that compare a network with layer norm to the same one without: their runs, their first weights."""

from collections.abc import Iterable
from dataclasses import asdict
from itertools import product
from typing import Any

import torch
from torch import nn

from lnbook.training.task import Job

__all__ = ["NORMS", "begin", "jobs_of"]

NORMS = ("none", "layer")


def jobs_of(studies: Iterable[Any], seed: int) -> list[Job]:
    """The runs of studies, seeds outermost.

    `studies` are dataclasses with `seeds`, how many runs of each norm, and perhaps `norms`, which; their
    other fields are the jobs' settings, and so columns of the rows.

    >>> from dataclasses import dataclass
    >>> Study = dataclass(type("Study", (), {"__annotations__": {"units": int, "seeds": int}}))
    >>> jobs_of([Study(8, seeds=1)], seed=5)
    [{'norm': 'none', 'units': 8, 'seed': 5}, {'norm': 'layer', 'units': 8, 'seed': 5}]
    """
    found: list[Job] = []
    for study in studies:
        settings = asdict(study)
        seeds, norms = settings.pop("seeds"), settings.pop("norms", NORMS)
        found += [{"norm": norm, **settings, "seed": seed + k} for k, norm in product(range(seeds), norms)]
    return found


def begin(model: nn.Module, units: int, generator: torch.Generator) -> None:
    """Give a recurrent network its first weights: uniform within 1 / sqrt(units), gains 1, biases 0.

    A norm's parameters draw nothing, so that networks with and without it begin alike.

    >>> from lnlib import LSTM
    >>> models = LSTM(2, 3), LSTM(2, 3, norm="none")
    >>> for model in models:
    ...     begin(model, 3, torch.Generator().manual_seed(0))
    >>> torch.equal(models[0].weight_hh_l0, models[1].weight_hh_l0)
    True
    """
    for name, parameter in model.named_parameters():
        kind = name.rpartition(".")[2]
        if kind.startswith("weight"):
            nn.init.uniform_(parameter, -(units**-0.5), units**-0.5, generator=generator)
        else:
            nn.init.constant_(parameter, float(kind.startswith("gain")))

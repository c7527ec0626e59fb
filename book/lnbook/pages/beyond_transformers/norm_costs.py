"""What a normalization alone costs: forward and backward, several taking turns."""

import time
from collections.abc import Callable, Mapping

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnbook.training import torch_threads

__all__ = ["seconds"]


def seconds(
    norms: Mapping[str, nn.Module],
    cases: int,
    units: int,
    *,
    rounds: int,
    clock: Callable[[], float] = time.process_time,
) -> dict[str, Float[np.ndarray, " rounds"]]:
    """Seconds of one forward and one backward pass of each, in each round, on one core.

    Args:
        norms: by name, each for so many `units`.
        cases, units: of the random input.
        rounds: every norm has one turn in each; two rounds before them are not counted.
        clock: the default leaves out what other processes take.

    >>> from lnlib import LayerNorm
    >>> seconds({"layer": LayerNorm(8)}, 4, 8, rounds=3)["layer"].shape
    (3,)
    """
    generator = torch.Generator().manual_seed(0)
    a: Tensor = torch.randn(cases, units, generator=generator).requires_grad_()
    back = torch.randn(cases, units, generator=generator)
    found: dict[str, list[float]] = {name: [] for name in norms}
    with torch_threads(1):
        for name, norm in [*norms.items()] * (rounds + 2):
            start = clock()
            torch.autograd.grad(norm(a), [a, *norm.parameters()], back)
            found[name].append(clock() - start)
    return {name: np.array(times[2:]) for name, times in found.items()}

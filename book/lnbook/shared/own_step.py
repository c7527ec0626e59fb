"""Which step size is a method's own, where several were tried: the best on the runs that do not judge."""

from collections.abc import Mapping
from functools import partial

import numpy as np

__all__ = ["best_elsewhere"]


def best_elsewhere(lowest: Mapping[float, Mapping[int, float]]) -> dict[int, float]:
    """For each seed, the step size whose lowest loss is least on average over the other seeds.

    A method whose step size is chosen on the run that judges it looks better than it is, and
    the method with the larger spread more so. The seed left out has no part in its choice.

    Args:
        lowest: by step size, by seed, the lowest validation loss; infinite or NaN for a run that diverged.

    Raises ValueError unless all step sizes have the same two or more seeds.

    >>> best_elsewhere({0.1: {0: 3.0, 1: 1.0, 2: 1.0}, 0.2: {0: 0.0, 1: 2.0, 2: 2.0}})
    {0: 0.1, 1: 0.2, 2: 0.2}
    """
    seeds = sorted(next(iter(lowest.values()), {}))
    if len(seeds) < 2 or any(sorted(runs) != seeds for runs in lowest.values()):
        found = {step: sorted(runs) for step, runs in lowest.items()}
        raise ValueError(
            f"step sizes with seeds {found}; each needs the same two or more, for one is left out"
        )

    return {seed: min(lowest, key=partial(_elsewhere, lowest, seed)) for seed in seeds}


def _elsewhere(lowest: Mapping[float, Mapping[int, float]], seed: int, step: float) -> float:
    """The mean over the other seeds; infinite where one of them diverged."""
    mean = np.mean([loss for other, loss in lowest[step].items() if other != seed])
    return float(mean) if np.isfinite(mean) else np.inf

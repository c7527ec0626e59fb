"""Random models, and what a product with their exact Fisher matrix costs."""

from collections.abc import Callable, Sequence
from functools import partial
from timeit import repeat

import torch
from torch import Tensor

from lnbook.training import Row
from lnlib.fisher import FisherOperator
from lnlib.glm import GLM


def random_model(family: str, norm: str, H: int, D: int, generator: torch.Generator) -> GLM:
    """Standard normal weights, normal biases, and gains around 1, in float64."""
    W, b, g = (torch.randn(*n, generator=generator, dtype=torch.float64) for n in ((H, D), (H,), (H,)))
    return GLM(family, W, b, norm=norm, gain=(g / 3).exp())


def costs(sizes: Sequence[int], dense_up_to: int, cases: int, generator: torch.Generator) -> list[Row]:
    """Seconds (best of five) and bytes of the matrix and of one product, for n units of n inputs.

    The bytes are counted: $P^2$ numbers; four arrays of (N, H) and two vectors.
    """
    rows = []
    for n in sizes:
        X = torch.randn(cases, n, generator=generator, dtype=torch.float64)
        F = FisherOperator(random_model("bernoulli", "layer", n, n, generator), X)
        v = torch.ones(F.shape[0], dtype=X.dtype)
        ways: dict[str, tuple[Callable[[], Tensor], int]] = {}
        ways["product"] = partial(F.__matmul__, v), 4 * cases * n + 2 * len(v)
        if n <= dense_up_to:
            ways["matrix"] = F.to_dense, len(v) ** 2
        for way, (compute, numbers) in ways.items():
            seconds = min(repeat(compute, number=1, repeat=5))
            rows.append({"way": way, "P": len(v), "seconds": seconds, "bytes": 8 * numbers})
    return rows

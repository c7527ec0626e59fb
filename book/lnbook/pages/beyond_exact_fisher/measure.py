"""Random models, and what a product with their exact Fisher matrix costs."""

from collections.abc import Iterator, Sequence
from functools import partial
from timeit import repeat

import torch

from lnlib.fisher import FisherOperator
from lnlib.glm import GLM


def random_model(family: str, norm: str, H: int, D: int, generator: torch.Generator) -> GLM:
    """Standard normal weights, normal biases, and gains around 1, in float64."""
    W, b, g = (torch.randn(*n, generator=generator, dtype=torch.float64) for n in ((H, D), (H,), (H,)))
    return GLM(family, W, b, norm=norm, gain=(g / 3).exp())


def costs(
    sizes: Sequence[int], dense_up_to: int, cases: int, generator: torch.Generator
) -> Iterator[tuple[int, float | None, float]]:
    """Parameters, seconds (best of five) of the matrix, if not too large, and of a product."""
    for n in sizes:
        X = torch.randn(cases, n, generator=generator, dtype=torch.float64)
        F = FisherOperator(random_model("bernoulli", "layer", n, n, generator), X)
        v = torch.ones(F.shape[0], dtype=X.dtype)
        product = min(repeat(partial(F.__matmul__, v), number=1, repeat=5))
        whole = min(repeat(F.to_dense, number=1, repeat=5)) if n <= dense_up_to else None
        yield len(v), whole, product

"""What an update of DRAW costs, and which of its parts the time goes to."""

import time
from collections.abc import Callable

import torch
from torch import Tensor

from lnbook.pages.sec6_4_draw.experiment import NORMS, Study
from lnbook.pages.sec6_4_draw.model import Draw, filterbanks
from lnlib.matmul import product

__all__ = ["seconds"]


def seconds(study: Study, side: int, repeats: int, generator: torch.Generator) -> dict[str, float]:
    """Processor seconds of an update, the least of so many repeats, one part at a time.

    Returns the seconds of a whole update with each norm of `NORMS` and with norm "propagation"; of its matrix
    "products" alone, three for each of the five weights at each glimpse; and of "attention": filters,
    reading, painting, both ways.
    """
    updates = {norm: _update(study, side, norm, generator) for norm in (*NORMS, "propagation")}
    parts = updates | {"products": _products(study), "attention": _attention(study, side, generator)}
    return {name: min(_timed(part) for _ in range(repeats)) for name, part in parts.items()}


def _timed(part: Callable[[], None]) -> float:
    start = time.process_time()
    part()
    return time.process_time() - start


def _update(study: Study, side: int, norm: str, generator: torch.Generator) -> Callable[[], None]:
    N = study.batch_size
    settings = {"units": study.units, "codes": study.codes, "read": study.read, "write": study.write}
    model = Draw(side, **settings, norm=norm, generator=generator)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    x = torch.rand(N, side, side, generator=generator).round()
    noise = torch.randn(study.glimpses, N, study.codes, generator=generator)

    def update() -> None:
        log_loss, divergence = model(x, noise)
        optimizer.zero_grad()
        (log_loss + divergence).mean().backward()
        optimizer.step()

    return update


def _products(study: Study) -> Callable[[], None]:
    """The products of a batch with each weight, forward, and backward to the input and to the weight."""
    H, Z, R, N = study.units, study.codes, 2 * study.read**2, study.batch_size
    shapes = [(R + H, 4 * H), (H, 4 * H), (H, 2 * Z), (Z, 4 * H), (H, 4 * H), (H, 10 + study.write**2)]
    operands = [(torch.ones(N, i), torch.ones(o, i), torch.ones(N, o)) for i, o in shapes]

    def products() -> None:
        for _ in range(study.glimpses):
            for x, weight, d in operands:
                product(x, weight.mT)
                product(d, weight)
                product(d.mT, x)

    return products


def _attention(study: Study, side: int, generator: torch.Generator) -> Callable[[], None]:
    N, points = study.batch_size, (study.read, study.write)
    x = torch.rand(N, side, side, generator=generator).round()
    leaves = [torch.zeros(N, 2, 5), torch.zeros(N, side, side), torch.ones(N, study.write, study.write)]
    windows, canvas, patch = (leaf.requires_grad_() for leaf in leaves)

    def attention() -> None:
        for _ in range(study.glimpses):
            banks = filterbanks(windows, points, side)
            seen = Draw.read(x, canvas, banks[0], windows[:, 0])
            painted = canvas + Draw.painted(patch, banks[1], windows[:, 1])
            total: Tensor = seen.sum() + painted.sum()
            total.backward()

    return attention

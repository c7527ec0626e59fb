"""The loop for a model that is fitted by the way, in a chapter or a test."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lnbook.training.loop import train
from lnbook.training.task import Cases, Machine, Row, Task

__all__ = ["fit"]


def fit(
    model: nn.Module,
    batches: Iterator[Cases],
    loss: Callable[[Tensor, Tensor], Float[Tensor, ""]],
    optimizer: torch.optim.Optimizer,
    *,
    updates: int,
    device: torch.device | str,
    every: int,
    evaluate: Callable[[nn.Module], Mapping[str, float]] | None = None,
) -> list[Row]:
    """`train` without an experiment around it: the rows, no checkpoints.

    Args:
        model: takes a batch's inputs; already on `device`.
        batches: pairs (inputs, targets), moved to `device` here.
        loss: of (outputs, targets), a scalar.
        optimizer: over the model's parameters.
        updates, every: as in `Task`.
        device: where to compute; never guessed.
        evaluate: measures the model, which it finds in evaluation mode and without gradients.

    >>> from lnbook.training import Minibatches
    >>> x = torch.arange(8.0)[:, None] / 8
    >>> model = nn.Linear(1, 1)
    >>> rows = fit(
    ...     model,
    ...     Minibatches((x, 3 * x), 4, torch.Generator().manual_seed(0)),
    ...     nn.functional.mse_loss,
    ...     torch.optim.SGD(model.parameters(), 0.5),
    ...     updates=200, device="cpu", every=100,
    ...     evaluate=lambda model: {"slope": model.weight.item()},
    ... )
    >>> [row["update"] for row in rows], round(rows[-1]["slope"], 2)
    ([0, 100, 200], 3.0)
    """
    task = _Fit(model, batches, optimizer, updates, every, criterion=loss, evaluation=evaluate)
    return train(task, machine=Machine(torch.device(device))).rows


@dataclass
class _Fit(Task):
    model: nn.Module
    batches: Iterator[Cases]
    optimizer: torch.optim.Optimizer
    updates: int
    every: int
    parts: Mapping[str, Cases] = field(default_factory=dict)
    criterion: Callable[[Tensor, Tensor], Tensor] = field(kw_only=True)
    evaluation: Callable[[nn.Module], Mapping[str, float]] | None = field(kw_only=True)

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        return self.criterion(model(cases[0]), cases[1])

    def overall(self, model: nn.Module) -> Mapping[str, float]:
        return {} if self.evaluation is None else self.evaluation(model)

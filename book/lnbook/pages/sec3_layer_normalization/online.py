"""Section 3, measured: learning from one case at a time."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.shared.shift import Cases
from lnbook.training import torch_threads


def learn(
    norm: Callable[..., Tensor], train: Cases, test: Cases, seed: int, *, cases: int
) -> tuple[float, float]:
    """Learn from so many cases one at a time: share of wrong test answers, move of the hidden weights."""
    generator = torch.Generator().manual_seed(seed)
    D, H = train[0].shape[1], 100
    W, V = (torch.randn(o, i, generator=generator) / i**0.5 for i, o in ((D, H), (H, 10)))
    parameters = [p.requires_grad_() for p in (W, torch.ones(H), torch.zeros(H), V)]
    start = W.detach().clone()

    def logits(x: Tensor) -> Tensor:
        return torch.relu(norm(x @ W.T, parameters[1], parameters[2])) @ V.T

    with torch_threads(1):  # tensors of one case are too small to share
        for n in torch.randperm(len(train[0]), generator=generator)[:cases].tolist():
            loss = cross_entropy(logits(train[0][n : n + 1]), train[1][n : n + 1])
            gradients = torch.autograd.grad(loss, parameters)
            with torch.no_grad():
                for p, gradient in zip(parameters, gradients, strict=True):
                    p -= 0.02 * gradient
    with torch.no_grad():
        wrong = logits(test[0]).argmax(1) != test[1]
        return float(wrong.double().mean()), float((W - start).norm())

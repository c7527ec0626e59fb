"""Section 3, measured: how summed inputs move as the layer below learns, and what layer norm does to them.

A change of summed inputs and its strongest directions (`change_above`, `strongest`), behind the paper's
reason for layer norm, and learning from one case at a time (`online`).
"""

from collections.abc import Callable
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

from lnbook.training import torch_threads

Cases = tuple[Float[Tensor, "N D"], Int[Tensor, " N"]]


def change_above(
    cases: Cases,
    f: Callable[[Tensor], Tensor],
    seed: int,
    *,
    H: int = 200,
    steps: int = 20,
    random: bool = False,
) -> tuple[Float[Tensor, "N H"], Float[Tensor, "N H"]]:
    """The upper layer's summed inputs, and their change once the layer below it has learned.

    Two hidden layers of H units are trained by gradient descent on all cases at once. Only the lower one's
    new weights are then used; the upper one's stay as they were, so what changes is its input. `random` is
    the control: the lower weights move as far (in Frobenius norm), in a random direction.
    """
    x, y = cases
    generator, power = torch.Generator().manual_seed(seed), 2 if f is torch.relu else 1
    sizes = (x.shape[1], H, H, 10)
    layers = [
        (torch.randn(o, i, generator=generator) * (power / i) ** 0.5).requires_grad_()
        for i, o in pairwise(sizes)
    ]
    lower, upper = (w.detach().clone() for w in layers[:2])
    for _ in range(steps):
        loss = cross_entropy(f(f(x @ layers[0].T) @ layers[1].T) @ layers[2].T, y)
        gradients = torch.autograd.grad(loss, layers)
        with torch.no_grad():
            for w, gradient in zip(layers, gradients, strict=True):
                w -= 0.1 * gradient
    move = layers[0].detach() - lower
    if random:
        direction = torch.randn(move.shape, generator=generator)
        move = direction * (move.norm() / direction.norm())
    before, after = f(x @ lower.T), f(x @ (lower + move).T)
    return before @ upper.T, (after - before) @ upper.T


def strongest(change: Float[Tensor, "N H"]) -> Float[Tensor, "20"]:
    """Share of a squared change in its 1, 2, ..., 20 strongest orthogonal directions among the units."""
    power = torch.linalg.svdvals(change).square()
    return (power.cumsum(0) / power.sum())[:20]


def online(
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

r"""The path norm of a rectifier network: a size of its weights that no re-scaling of its units changes.

A unit of a ReLU network may multiply its incoming weights and bias by any $c > 0$ and divide its outgoing
weights by it: the network computes the same. Sums of squared weights change. The path norm sums over paths
from an input to an output, on each of which c and 1/c meet.

A network is a list of layers (W, b); ReLU follows every layer but the last. A bias is the weight of a path
that starts in a unit which is always 1.

*Source* Section 4's reference: Neyshabur, Salakhutdinov, Srebro, "Path-SGD" (2015).
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

Layer = tuple[Float[Tensor, "_ _"], Float[Tensor, " _"]]  # (H, D) and (H,), each layer its own


def forward(layers: Sequence[Layer], x: Float[Tensor, "N D"]) -> Float[Tensor, "N K"]:
    r"""The network: $h \leftarrow \max(0, Wh + b)$ layer by layer, the last without max."""
    for W, b in layers[:-1]:
        x = torch.relu(x @ W.T + b)
    W, b = layers[-1]
    return x @ W.T + b


def path_norm(layers: Sequence[Layer]) -> Float[Tensor, ""]:
    r"""$\phi = \Big(\sum_{\text{paths}}\prod_{e\in\text{path}} w_e^2\Big)^{1/2}$, over all paths.

    *Source* Neyshabur et al. (2015), with p = 2.
    """
    return _over_paths([(W.square(), b.square()) for W, b in layers]).sqrt()


def path_curvature(layers: Sequence[Layer]) -> list[Tensor]:
    r"""How strongly each of W, b, W, b, ... enters: $\kappa_e = \tfrac12\,\partial^2\phi^2/\partial w_e^2$.

    It is the sum, over the paths through the weight, of the squares of their other weights, hence the first
    derivative by the weight's square. Path-SGD divides each gradient by it, and so takes a step that commutes
    with re-scaling.

    *Source* Neyshabur et al. (2015), the update of Path-SGD.
    """
    squares = [q.detach().square().requires_grad_() for layer in layers for q in layer]
    return list(torch.autograd.grad(_over_paths(_paired(squares)), squares))


def rescale(layers: Sequence[Layer], factors: Sequence[Float[Tensor, " _"]]) -> list[Layer]:
    """The same function: what enters a hidden unit times its (positive) factor, what leaves it over it."""
    ones = [torch.ones_like(layers[0][0][0]), *factors, torch.ones_like(layers[-1][1])]
    return [(W * ones[k + 1].unsqueeze(1) / ones[k], b * ones[k + 1]) for k, (W, b) in enumerate(layers)]


def step(
    layers: Sequence[Layer],
    x: Float[Tensor, "N D"],
    y: Float[Tensor, "N K"],
    rate: float,
    *,
    by_path: bool = False,
) -> list[Layer]:
    """One step of gradient descent on the mean squared error; `by_path`, of Path-SGD."""
    p = [q.detach().clone().requires_grad_() for layer in layers for q in layer]
    slopes = torch.autograd.grad((forward(_paired(p), x) - y).square().mean(), p)
    if by_path:
        slopes = tuple(slope / k for slope, k in zip(slopes, path_curvature(layers), strict=True))
    return _paired([q.detach() - rate * slope for q, slope in zip(p, slopes, strict=True)])


def _paired(parameters: Sequence[Tensor]) -> list[Layer]:
    return list(zip(parameters[::2], parameters[1::2], strict=True))


def _over_paths(layers: Sequence[Layer]) -> Float[Tensor, ""]:
    """The sum over all paths of the product of what is on the path, by one pass of ones."""
    reaching = torch.ones_like(layers[0][0][0])
    for W, b in layers:
        reaching = W @ reaching + b
    return reaching.sum()

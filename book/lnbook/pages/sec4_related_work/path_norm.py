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
    r"""Square root of the sum over all paths of the product of the squared weights on the path.

    $\phi = \Big(\sum_{\text{paths}}\prod_{e\in\text{path}} w_e^2\Big)^{1/2}$, by one pass of ones through the
    squared weights.

    *Source* Neyshabur et al. (2015), with p = 2.
    """
    return _reaching(layers)[-1].sum().sqrt()


def path_curvature(layers: Sequence[Layer]) -> list[Layer]:
    r"""How strongly each weight enters: $\kappa_e = \tfrac12\,\partial^2\phi^2/\partial w_e^2$.

    It is the sum, over the paths through the weight, of the squares of their other weights. Path-SGD divides
    each gradient by it, and so takes a step that commutes with re-scaling.

    *Source* Neyshabur et al. (2015), the update of Path-SGD.
    """
    reaching = _reaching(layers)
    onward = torch.ones_like(layers[-1][1])  # from a unit's output to the network's outputs
    found: list[Layer] = []
    for (W, b), below in zip(reversed(layers), reversed(reaching[:-1]), strict=True):
        found.append((torch.outer(onward, below), onward.expand_as(b).clone()))
        onward = W.square().T @ onward
    return found[::-1]


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
    out = forward(list(zip(p[::2], p[1::2], strict=True)), x)
    slopes = torch.autograd.grad((out - y).square().mean(), p)
    if by_path:
        kappa = [q for layer in path_curvature(layers) for q in layer]
        slopes = tuple(slope / k for slope, k in zip(slopes, kappa, strict=True))
    new = [q.detach() - rate * slope for q, slope in zip(p, slopes, strict=True)]
    return list(zip(new[::2], new[1::2], strict=True))


def _reaching(layers: Sequence[Layer]) -> list[Tensor]:
    """Sums of squared products over the paths that end in each unit: of the inputs, then of each layer."""
    sums = [torch.ones_like(layers[0][0][0])]
    for W, b in layers:
        sums.append(W.square() @ sums[-1] + b.square())
    return sums

r"""How far a gradient can be trusted: the loss and its gradient along a step against the gradient.

With $L(t)$ the loss at $w - t\nabla L(w)$, at a point w of training and for one fixed set of cases:

*sharpness* $\max_t \lVert\nabla L(t)-\nabla L(0)\rVert\,/\,(t\,\lVert\nabla L(0)\rVert)$, t from half to four
times the step size: the "effective beta-smoothness" of Santurkar, Tsipras, Ilyas, Mądry, "How Does Batch
Normalization Help Optimization?" (2018). It has the unit of one over a step size, and so depends on the
scale of the weights.

*reach* $t\,\lVert\nabla L\rVert^2/L$ at the first t where the loss has fallen by half of the promised
$t\,\lVert\nabla L\rVert^2$ only: the share of the loss that a straight line may promise. Ours; no unit.

And the largest eigenvalue of a random network's Fisher matrix. For a squared error of all outputs, with the
Jacobian J, $F = \frac1NJ^\top J$ has that of $\frac1NJJ^\top$ (N K, N K), however many weights there are.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice, pairwise

import numpy as np
import torch
from jaxtyping import Float, Int64
from scipy.sparse.linalg import LinearOperator, eigsh
from torch import Tensor
from torch.func import functional_call, grad, vjp

from lnbook.pages.beyond_covariate_shift.twins import Arrays, Twins, batches_of, loss, losses
from lnbook.races import arrival
from lnbook.training import torch_threads
from lnlib import layer_norm

STEPS = (0.5, 1.0, 2.0, 4.0)  # times the step size
SHARES = 2.0 ** np.arange(-6.0, 7.0)  # promised decreases, in units of the loss

Run = dict[str, Float[np.ndarray, "S T"]]
Parameters = Mapping[str, Tensor]  # each (S, ...)
Names = tuple[str, ...]  # how the names of parameters begin


@torch.no_grad()
def sharpness(
    model: Twins, x: Float[Tensor, "S N D"], y: Int64[Tensor, "S N"], rate: float, *, moved: Names = ("",)
) -> Float[Tensor, " S"]:
    """Each start's largest change of the gradient along a step of parameters, over the distance."""
    slopes, _, slope_at = _line(model, x, y, moved)
    found = []
    for t in (step * rate for step in STEPS):
        others = slope_at(x.new_full((len(x),), t))
        change = _squares({name: others[name] - slope for name, slope in slopes.items()}).sqrt()
        found.append(change / (t * _squares(slopes).sqrt()))
    return torch.stack(found).amax(0)


@torch.no_grad()
def reach(
    model: Twins, x: Float[Tensor, "S N D"], y: Int64[Tensor, "S N"], *, moved: Names = ("",)
) -> Float[Tensor, " S"]:
    """The promised share of the loss of which half comes true; each start's."""
    slopes, loss_at, _ = _line(model, x, y, moved)
    before, power, kept = loss_at(x.new_zeros(len(x))), _squares(slopes), []
    for share in SHARES.tolist():
        after = loss_at(share * before / power)
        kept.append((before - after) / (share * before))
    log, runs = np.log(SHARES), torch.stack(kept, 1).double().numpy()
    found = [min(arrival({"time": log, "level": run}, 0.5), log[-1]) for run in runs]
    return torch.tensor(np.exp(found))


def compare(
    arrays: Arrays, depth: int, rate: float, seeds: Sequence[int], *, units: int, updates: int, every: int
) -> dict[str, Run]:
    """Gradient descent's `loss`, `sharpness` and `reach` on 128 cases, by norm."""
    x, y = (torch.from_numpy(part) for part in arrays[:2])
    probe = x[:128].expand(len(seeds), -1, -1), y[:128].expand(len(seeds), -1)

    def along_training(norm: str) -> Run:
        model, found = Twins((x.shape[1], *[units] * depth, 10), norm, seeds), []
        optimizer = torch.optim.SGD(model.parameters(), lr=rate)
        for update, cases in enumerate(islice(batches_of(x, y, 64, seeds), updates + 1)):
            if update % every == 0:
                now = losses(model(probe[0]), probe[1]).detach()
                found.append((now, sharpness(model, *probe, rate), reach(model, *probe)))
            optimizer.zero_grad()
            loss(model(cases[0]), cases[1]).backward()
            optimizer.step()
        measures = [torch.stack(values, 1).double().numpy() for values in zip(*found, strict=True)]
        return dict(zip(("loss", "sharpness", "reach"), measures, strict=True))

    with torch_threads(1):
        return {norm: along_training(norm) for norm in ("none", "batch", "layer")}


def over_none(runs: Sequence[Mapping[str, Run]], norm: str, measure: str) -> Float[np.ndarray, " S"]:
    """How many times as large a measure is with a norm as without, in logarithms, over all step sizes."""
    found = []
    for each in runs:
        if measure == "reach":
            reaches = matched(each)
            found.append(np.log(reaches[norm] / reaches["none"]))
        else:
            found.append(np.log(each[norm][measure] / each["none"][measure]).mean(1))
    return np.mean(found, 0)


def matched(runs: Mapping[str, Run]) -> dict[str, Float[np.ndarray, " S"]]:
    """The geometric mean of the reach at equal losses: five of them that all runs of a start pass.

    They lie evenly in the logarithm, from the smallest of the runs' first losses to the largest of their
    lowest, ends not counted. A run reads its measure off where its loss first came so low.
    """
    lowest = {norm: np.minimum.accumulate(run["loss"], 1) for norm, run in runs.items()}
    top = np.min([low[:, 0] for low in lowest.values()], 0)
    end = np.max([low[:, -1] for low in lowest.values()], 0)
    share = np.arange(1, 6) / 6
    wanted = np.log(top)[:, None] * (1 - share) + np.log(end)[:, None] * share
    found = {}
    for norm, run in runs.items():
        starts = zip(wanted, -np.log(lowest[norm]), np.log(run["reach"]), strict=True)
        found[norm] = np.exp([np.interp(-want, low, values).mean() for want, low, values in starts])
    return found


def _line(
    model: Twins, x: Tensor, y: Tensor, moved: Names
) -> tuple[Parameters, Callable[[Tensor], Tensor], Callable[[Tensor], Parameters]]:
    """The gradient for the parameters that are moved; the loss and the gradient after steps t against it.

    Each start has its own loss, gradient and t.
    """
    start = {n: p.detach() for n, p in model.named_parameters() if p.requires_grad and n.startswith(moved)}

    def each(at: Parameters) -> Float[Tensor, " S"]:
        return losses(functional_call(model, dict(at), (x,)), y)

    slope_at = grad(lambda at: each(at).sum())
    slopes = slope_at(start)

    def after(t: Float[Tensor, " S"]) -> Parameters:
        return {n: p - t.to(p.dtype).view(-1, *[1] * (p.ndim - 1)) * slopes[n] for n, p in start.items()}

    return slopes, lambda t: each(after(t)), lambda t: slope_at(after(t))


def _squares(parameters: Parameters) -> Float[Tensor, " S"]:
    """The squared length of each start's parameters."""
    return torch.stack([p.flatten(1).square().sum(1) for p in parameters.values()]).sum(0)


def largest_eigenvalue(
    weights: Sequence[Float[Tensor, "_ _"]], x: Float[Tensor, "N D"], norm: Callable[[Tensor], Tensor]
) -> float:
    """Of the Fisher matrix of a ReLU network with a norm on its outputs, by Lanczos' method."""

    def outputs(*weights: Tensor) -> Float[Tensor, "N K"]:
        h = x
        for W in weights[:-1]:
            h = torch.relu(h @ W.T)
        return norm(h @ weights[-1].T)

    z, pull = outputs(*weights), vjp(outputs, *weights)[1]
    push = vjp(pull, z)[1]  # pull is linear: its transpose is J

    def product(u: Float[np.ndarray, " NK"]) -> Float[np.ndarray, " NK"]:
        return push(pull(torch.from_numpy(u).view_as(z)))[0].flatten().numpy()

    size, start = z.numel(), np.linspace(1, 2, z.numel())
    square = LinearOperator((size, size), product, dtype=float)
    return float(eigsh(square, k=1, v0=start, tol=1e-10, return_eigenvectors=False)[0]) / len(x)


def largest_eigenvalues(width: int, network: int) -> list[float]:
    """Of a random network's Fisher matrix on half as many cases as units: no norm, batch norm, layer norm."""
    generator = torch.Generator().manual_seed(1000 * width + network)
    shapes, cases = pairwise((*[width] * 4, 10)), width // 2
    drawn = (torch.randn(H, D, generator=generator, dtype=torch.float64) for D, H in shapes)
    weights = [W * (2 / W.shape[1]) ** 0.5 for W in drawn]  # of a relu network, no biases
    x = torch.randn(cases, width, generator=generator, dtype=torch.float64)
    norms = (lambda z: z, lambda z: layer_norm(z, eps=0.0, dim=0), lambda z: layer_norm(z, eps=0.0))
    return [largest_eigenvalue(weights, x, norm) for norm in norms]

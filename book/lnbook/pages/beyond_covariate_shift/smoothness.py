r"""How far a gradient can be trusted: the loss and its gradient along a step against the gradient.

With $L(t)$ the loss at $w - t\nabla L(w)$, at a point w of training and for one fixed set of cases:

*sharpness* $\max_t \lVert\nabla L(t)-\nabla L(0)\rVert\,/\,(t\,\lVert\nabla L(0)\rVert)$, t from half to four
times the step size: the "effective beta-smoothness" of Santurkar, Tsipras, Ilyas, Mądry, "How Does Batch
Normalization Help Optimization?" (2018). It has the unit of one over a step size, and so depends on the
scale of the weights.

*reach* $t\,\lVert\nabla L\rVert^2/L$ at the first t where the loss has fallen by half of the promised
$t\,\lVert\nabla L\rVert^2$ only: the share of the loss that a straight line may promise. Ours; no unit.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.func import functional_call, grad

from lnbook.pages.beyond_covariate_shift.twins import Arrays, Twins, batches_of, loss, losses
from lnbook.races import arrival
from lnbook.training import torch_threads

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
    start, _, slope_at = _line(model, x, y, moved)
    slopes, found = slope_at(start), []
    for t in (step * rate for step in STEPS):
        others = slope_at(_moved(start, slopes, x.new_full((len(x),), t)))
        change = _squares({name: others[name] - slope for name, slope in slopes.items()}).sqrt()
        found.append(change / (t * _squares(slopes).sqrt()))
    return torch.stack(found).amax(0)


@torch.no_grad()
def reach(
    model: Twins, x: Float[Tensor, "S N D"], y: Int64[Tensor, "S N"], *, moved: Names = ("",)
) -> Float[Tensor, " S"]:
    """The promised share of the loss of which half comes true; each start's."""
    start, loss_at, slope_at = _line(model, x, y, moved)
    slopes, before, kept = slope_at(start), loss_at(start), []
    power = _squares(slopes)
    for share in SHARES.tolist():
        after = loss_at(_moved(start, slopes, share * before / power))
        kept.append((before - after) / (share * before))
    log, runs = np.log(SHARES), torch.stack(kept, 1).double().numpy()
    found = [min(arrival({"time": log, "level": run}, 0.5), log[-1]) for run in runs]
    return torch.tensor(np.exp(found))


def compare(
    arrays: Arrays,
    *,
    units: int,
    depths: Sequence[int],
    rates: Sequence[float],
    seeds: Sequence[int],
    updates: int,
    every: int,
) -> dict[int, list[dict[str, Run]]]:
    """Gradient descent's `loss`, `sharpness` and `reach` on 128 cases, by depth, step size and norm."""
    x, y = (torch.from_numpy(part) for part in arrays[:2])
    probe = x[:128].expand(len(seeds), -1, -1), y[:128].expand(len(seeds), -1)

    def along_training(depth: int, rate: float, norm: str) -> Run:
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

    norms, compared = ("none", "batch", "layer"), {}
    with torch_threads(1):
        for depth in depths:
            compared[depth] = [{norm: along_training(depth, rate, norm) for norm in norms} for rate in rates]
    return compared


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
) -> tuple[Parameters, Callable[[Parameters], Tensor], Callable[[Parameters], Parameters]]:
    """The parameters that are moved, and each start's loss and gradient as functions of them."""
    start = {n: p.detach() for n, p in model.named_parameters() if p.numel() and n.startswith(moved)}

    def each(at: Parameters) -> Float[Tensor, " S"]:
        return losses(functional_call(model, dict(at), (x,)), y)

    return start, each, grad(lambda at: each(at).sum())


def _moved(start: Parameters, slopes: Parameters, t: Float[Tensor, " S"]) -> Parameters:
    """The parameters after a step of t against the gradient, each start with its own t."""
    return {name: p - t.to(p.dtype).view(-1, *[1] * (p.ndim - 1)) * slopes[name] for name, p in start.items()}


def _squares(parameters: Parameters) -> Float[Tensor, " S"]:
    """The squared length of each start's parameters."""
    return torch.stack([p.flatten(1).square().sum(1) for p in parameters.values()]).sum(0)

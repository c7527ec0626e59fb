r"""How far a gradient can be trusted: the loss and its gradient along a step against the gradient.

With $L(t)$ the loss at $w - t\nabla L(w)$, at a point w of training and for one fixed set of cases:

*sharpness* $\max_t \lVert\nabla L(t)-\nabla L(0)\rVert\,/\,(t\,\lVert\nabla L(0)\rVert)$, t from half to four
times the step size: the "effective beta-smoothness" of Santurkar, Tsipras, Ilyas, Mądry, "How Does Batch
Normalization Help Optimization?" (2018). It has the unit of one over a step size, and so depends on the
scale of the weights.

*reach* $t\,\lVert\nabla L\rVert^2/L$ at the first t where the loss has fallen by half of the promised
$t\,\lVert\nabla L\rVert^2$ only: the share of the loss that a straight line may promise. Ours; no unit.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.func import functional_call

from lnbook.pages.beyond_covariate_shift.twins import Arrays, Twins, batches_of, loss, losses
from lnbook.training import torch_threads

STEPS = (0.5, 1.0, 2.0, 4.0)  # times the step size
SHARES = 2.0 ** np.arange(-6.0, 7.0)  # promised decreases, in units of the loss

Run = dict[str, Float[np.ndarray, "S T"]]
Parameters = Mapping[str, Tensor]  # each (S, ...)


def sharpness(
    model: Twins,
    x: Float[Tensor, "S N D"],
    y: Int64[Tensor, "S N"],
    rate: float,
    *,
    moved: tuple[str, ...] = ("",),
) -> Float[Tensor, " S"]:
    """The largest change of the gradient along a step, over the distance; each start's."""
    start, slopes = _gradient(model, x, y, moved)
    found = []
    for step in STEPS:
        t = step * rate
        _, others = _gradient(model, x, y, moved, _moved(start, slopes, x.new_full((len(x),), t)))
        change = _squares({name: others[name] - slope for name, slope in slopes.items()}).sqrt()
        found.append(change / (t * _squares(slopes).sqrt()))
    return torch.stack(found).amax(0)


@torch.no_grad()
def reach(
    model: Twins, x: Float[Tensor, "S N D"], y: Int64[Tensor, "S N"], *, moved: tuple[str, ...] = ("",)
) -> Float[Tensor, " S"]:
    """The promised share of the loss of which half comes true; each start's. `moved` as in `sharpness`."""
    with torch.enable_grad():
        start, slopes = _gradient(model, x, y, moved)
    power, before = _squares(slopes), losses(model(x), y)
    kept = []
    for share in SHARES.tolist():
        t = share * before / power
        after = losses(functional_call(model, dict(_moved(start, slopes, t)), (x,)), y)
        kept.append((before - after) / (share * before))
    log, found = np.log(SHARES), []
    for run in torch.stack(kept, 1).double().numpy():
        below = np.flatnonzero(~(run >= 0.5))
        k = below[0] if len(below) else len(run)
        if 0 < k < len(run):
            found.append(log[k - 1] + (run[k - 1] - 0.5) / (run[k - 1] - run[k]) * (log[k] - log[k - 1]))
        else:
            found.append(log[min(k, len(run) - 1)])
    return torch.tensor(np.exp(found))


def along_training(
    arrays: Arrays,
    *,
    norm: str,
    hidden: Sequence[int],
    rate: float,
    seeds: Sequence[int],
    updates: int,
    every: int,
) -> Run:
    """Gradient descent: `loss`, `sharpness` and `reach` on 128 cases, at first and every few updates."""
    x, y = (torch.from_numpy(part) for part in arrays[:2])
    model = Twins((x.shape[1], *hidden, 10), norm, seeds)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    probe = x[:128].expand(len(seeds), -1, -1), y[:128].expand(len(seeds), -1)
    found: dict[str, list[Tensor]] = {"loss": [], "sharpness": [], "reach": []}
    for update, cases in enumerate(islice(batches_of(x, y, 64, seeds), updates + 1)):
        if update % every == 0:
            found["loss"].append(losses(model(probe[0]), probe[1]).detach())
            found["sharpness"].append(sharpness(model, *probe, rate))
            found["reach"].append(reach(model, *probe))
        optimizer.zero_grad()
        loss(model(cases[0]), cases[1]).backward()
        optimizer.step()
    return {name: torch.stack(values, 1).double().numpy() for name, values in found.items()}


def compare(
    arrays: Arrays, *, units: int, depths: Sequence[int], rates: Sequence[float], **common: Any
) -> dict[int, dict[float, dict[str, Run]]]:
    """`along_training` without a norm, with batch norm and with layer norm: by depth, step size and norm."""

    def runs(depth: int, rate: float) -> dict[str, Run]:
        norms, hidden = ("none", "batch", "layer"), (units,) * depth
        return {n: along_training(arrays, norm=n, hidden=hidden, rate=rate, **common) for n in norms}

    with torch_threads(1):
        return {depth: {rate: runs(depth, rate) for rate in rates} for depth in depths}


def over_none(runs: Mapping[float, Mapping[str, Run]], norm: str, measure: str) -> Float[np.ndarray, " S"]:
    """How many times as large a measure is with a norm as without, in logarithms, over all step sizes."""
    found = []
    for each in runs.values():
        if measure == "reach":
            values = matched(each, measure)
            found.append(np.log(values[norm] / values["none"]))
        else:
            found.append(np.log(each[norm][measure] / each["none"][measure]).mean(1))
    return np.mean(found, 0)


def matched(runs: Mapping[str, Run], name: str) -> dict[str, Float[np.ndarray, " S"]]:
    """The geometric mean of a measure at equal losses: five of them that all runs of a start pass.

    They lie evenly in the logarithm, from the smallest of the runs' first losses to the largest of their
    lowest, ends not counted. A run reads its measure off where its loss first came so low.
    """
    lowest = {norm: np.minimum.accumulate(run["loss"], 1) for norm, run in runs.items()}
    top = np.min([low[:, 0] for low in lowest.values()], 0)
    end = np.max([low[:, -1] for low in lowest.values()], 0)
    share = np.arange(1, 6) / 6
    wanted = np.log(top)[:, None] * (1 - share) + np.log(end)[:, None] * share
    return {
        norm: np.exp(
            [
                np.interp(-want, -np.log(low), np.log(values)).mean()
                for want, low, values in zip(wanted, lowest[norm], run[name], strict=True)
            ]
        )
        for norm, run in runs.items()
    }


def _gradient(
    model: Twins, x: Tensor, y: Tensor, moved: tuple[str, ...], at: Parameters | None = None
) -> tuple[Parameters, Parameters]:
    """The parameters that are moved, and the gradient with respect to them."""
    named = dict(model.named_parameters()) if at is None else at
    point = {
        name: p.detach().requires_grad_() for name, p in named.items() if p.numel() and name.startswith(moved)
    }
    value = loss(functional_call(model, dict(point), (x,)), y)
    slopes = torch.autograd.grad(value, list(point.values()))
    return point, dict(zip(point, slopes, strict=True))


def _moved(start: Parameters, slopes: Parameters, t: Float[Tensor, " S"]) -> Parameters:
    """The parameters after a step of t against the gradient, each start with its own t."""
    return {
        name: (p - t.to(p.dtype).view(-1, *[1] * (p.ndim - 1)) * slopes[name]).detach()
        for name, p in start.items()
    }


def _squares(parameters: Parameters) -> Float[Tensor, " S"]:
    """The squared length of each start's parameters."""
    return torch.stack([p.flatten(1).square().sum(1) for p in parameters.values()]).sum(0)

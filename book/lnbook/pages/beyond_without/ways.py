r"""Ways to do without a norm, each a `Method` of residual blocks, and which of the norm's jobs each one does.

Rows are cases, so matrices multiply from the right. *Source* Jiang and others (2023), Heimersheim (2024), Zhu
and others (2025), Zhang and others (2019), Bachlechner and others (2021), Brock and others (2021).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import normalize

from lnbook.shared.digits import Cases
from lnbook.shared.residual_networks import FIXED, Method, Networks, Parameters, scores, train
from lnbook.training import generators
from lnlib.norms import layer_norm, rms_norm

EPS = 1e-5
ALPHA = 0.2  # what a block of standardized weights adds is multiplied by this
GAMMA = ((1 - 1 / math.pi) / 2) ** -0.5  # one over the deviation of the relu of a standard normal number


def branch(u: Tensor, p: Parameters) -> Tensor:
    """What a block adds to the stream."""
    return (u @ p["W1"]).relu() @ p["W2"]


def off_mean(W: Tensor) -> Tensor:
    """Each row less its mean: what it writes then has mean 0."""
    return W - W.mean(-1, keepdim=True)


def standardized(W: Tensor) -> Tensor:
    """Each unit's incoming weights, of sum 0 and length 1."""
    W = W - W.mean(-2, keepdim=True)
    return W / W.norm(dim=-2, keepdim=True)


def _gains(p: Parameters) -> Parameters:
    """Gains of 1 and biases of 0 for the norms of all blocks and of the end."""
    blocks, networks, units, _ = p["W1"].shape
    ones = p["W1"].new_ones(blocks + 1, networks, 1, units)
    return {**p, "gain": ones, "bias": 0 * ones}


def _rms(x: Tensor, p: Parameters) -> Tensor:
    return rms_norm(x, eps=EPS)


def _before(
    read: Callable[[Tensor, Parameters], Tensor], start: Callable[[Parameters], Parameters]
) -> Method:
    """Blocks that read the stream through something, and a readout that does, too."""
    return Method(lambda x, p: x + branch(read(x, p), p), read, start)


LAYERED = _before(lambda x, p: p["gain"] * layer_norm(x, eps=EPS) + p["bias"], _gains)
FOLDED = Method(lambda x, p: x + (_rms(x, p) @ p["W1"] + p["c"]).relu() @ p["W2"], _rms)


def folded(networks: Networks) -> tuple[Networks, Float[Tensor, "S 1 K"]]:
    """Gains and biases moved to the matrices that read, means to those that write; and the logits' bias."""
    p, out = networks.stack, networks.out
    stack = {"W1": p["gain"].mT[:-1] * p["W1"], "c": p["bias"][:-1] @ p["W1"], "W2": off_mean(p["W2"])}
    into, scaled = off_mean(networks.into), p["gain"].mT[-1] * out
    return replace(networks, method=FOLDED, into=into, stack=stack, out=scaled), p["bias"][-1] @ out


def faded(share: float) -> Method:
    """Norms that divide by the case's own deviation only to this share, else by the fixed `sigma`."""

    def part(x: Tensor, p: Parameters) -> Tensor:
        own = (x.var(-1, correction=0, keepdim=True) + EPS).rsqrt()
        return p["gain"] * off_mean(x) * (share * own + (1 - share) / p["sigma"]) + p["bias"]

    return _before(part, _gains)


def holding_deviations(networks: Networks, x: Float[Tensor, "*S N D"]) -> Networks:
    """With the mean deviation over cases that each norm divides by, as the fixed `sigma`."""
    streams = torch.stack(replace(networks, method=LAYERED).streams(x))
    own = (streams.var(-1, correction=0, keepdim=True) + EPS).sqrt()
    return replace(networks, stack={**networks.stack, "sigma": own.mean(-2, keepdim=True)})


def _alpha(p: Parameters) -> Parameters:
    p = _gains(p)
    return {**p, "alpha": 0.5 * p["gain"][..., :1]}


def _fixup(p: Parameters) -> Parameters:
    b = p["W1"].new_zeros(*p["W1"].shape[:2], 4, 1, 1)
    return {"W1": p["W1"] / len(b) ** 0.5, "W2": 0 * p["W2"], "s": 1 + b[:, :, 0], "b": b}


def _fixup_block(x: Tensor, p: Parameters) -> Tensor:
    b = p["b"].unbind(1)
    h = ((x + b[0]) @ p["W1"] + b[1]).relu() + b[2]
    return x + p["s"] * (h @ p["W2"]) + b[3]


def _factor_of_zero(p: Parameters) -> Parameters:
    return {**p, "s": p["W1"].new_zeros(*p["W1"].shape[:2], 1, 1)}


def _standardized_block(x: Tensor, p: Parameters) -> Tensor:
    h = (x / p["beta"] @ standardized(p["W1"])).relu()
    return x + ALPHA * GAMMA * h @ standardized(p["W2"])


WAYS = {
    "layer norm": LAYERED,
    "layer norm, W2 = 0": LAYERED._replace(start=lambda p: _gains({**p, "W2": 0 * p["W2"]})),
    "RMSNorm, folded": _before(_rms, lambda p: {**p, "W2": off_mean(p["W2"])}),
    "dynamic tanh": _before(lambda x, p: p["gain"] * (p["alpha"] * x).tanh() + p["bias"], _alpha),
    "standardized weights": Method(_standardized_block),
    "Fixup": Method(_fixup_block, start=_fixup),
    "ReZero": Method(lambda x, p: x + p["s"] * branch(x, p), start=_factor_of_zero),
    "faded out": faded(0),
    "without a norm": Method(lambda x, p: x + branch(x, p)),
}


def first_step(networks: Networks) -> tuple[Float[Tensor, " S"], dict[str, Float[Tensor, " S"]]]:
    r"""Before training: the mean square of what is read, y, and how far a small step moves it.

    For each kind of parameters $\lVert\nabla_\theta\,r^\top y\rVert^2$, the change of $r^\top y$ per rate, r
    random of length 1, one case a seed. *Source* Zhang et al. (2019), Section 3.
    """
    into, orders = networks.into, [generators(seed)[1] for seed in networks.seeds]
    x, r = (
        torch.stack([torch.randn(1, n, generator=g, dtype=torch.float64) for g in orders]).to(into)
        for n in into.shape[1:]
    )
    leaves = {n: v.detach().requires_grad_() for n, v in networks.stack.items() if n not in FIXED}
    y = replace(networks, stack={**networks.stack, **leaves}).read(x)
    along = (normalize(r, dim=-1) * y).sum()
    slopes = torch.autograd.grad(along, [*leaves.values()], materialize_grads=True)
    moved = [slope.square().transpose(0, 1).flatten(1).sum(1) for slope in slopes]
    return y.detach().square().mean((1, 2)), dict(zip(leaves, moved, strict=True))


def new(
    name: str, depth: int, width: int, seeds: Sequence[int], dtype: torch.dtype = torch.float32
) -> Networks:
    """Networks of `WAYS` before training, with the numbers that their blocks divide by; readouts are 0.

    Those of a seed are drawn alike in every way: `W1` (L, S, H, 2H) of variance 2/H, `W2` (L, S, 2H, H) of
    variance 1/(2H).
    """
    drawn = [generators(seed)[0] for seed in seeds]

    def normal(*shape: int, variance: float) -> Tensor:
        each = [torch.randn(*shape, generator=g, dtype=torch.float64) for g in drawn]
        return (math.sqrt(variance) * torch.stack(each, -3)).to(dtype)

    into = normal(64, width, variance=1 / 64)
    W1 = normal(depth, width, 2 * width, variance=2 / width)
    W2 = normal(depth, 2 * width, width, variance=1 / (2 * width))
    stack, out = WAYS[name].start({"W1": W1, "W2": W2}), into.new_zeros(len(seeds), width, 10)
    networks = Networks(WAYS[name], seeds, into, stack, out)
    if name == "standardized weights":
        blocks = torch.arange(depth).to(networks.into)[:, None, None, None]
        beta = (1 + ALPHA**2 * blocks).sqrt().expand(-1, len(seeds), 1, 1)
        return replace(networks, stack={**networks.stack, "beta": beta})
    if name == "RMSNorm, folded":
        return replace(networks, into=off_mean(networks.into))
    if name == "faded out":
        cases = torch.randn(256, 64, generator=torch.Generator().manual_seed(0))
        return holding_deviations(networks, cases.to(dtype))
    return networks


def jobs(depths: tuple[int, int], seeds: Sequence[int]) -> dict[str, dict[str, float]]:
    """Size at the most blocks, first step there over that at the fewest (geometric means over seeds); and the
    relative change of what is read from one linear map if the weights, or a case, double.

    >>> found = jobs((2, 4), [0])
    >>> found["layer norm"]["weights"] < 1e-12, found["dynamic tanh"]["case"] < 1, found["ReZero"]["case"]
    (True, True, 1.0)
    """
    x, W = torch.randn(2, 16, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    sigma = off_mean(x @ W).var(-1, correction=0).sqrt().mean()
    reads: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
        "layer norm": lambda x, W: layer_norm(x @ W, eps=0.0),
        "RMSNorm, folded": lambda x, W: rms_norm(x @ off_mean(W), eps=0.0),
        "dynamic tanh": lambda x, W: (0.5 * x @ W).tanh(),
        "standardized weights": lambda x, W: x @ standardized(W),
        "faded out": lambda x, W: x @ off_mean(W) / sigma,
    }
    found = {}
    for name in WAYS:
        if name == "layer norm, W2 = 0":
            continue
        (_, few), (size, many) = (first_step(new(name, d, 16, seeds, torch.float64)) for d in depths)
        grown = torch.stack([*many.values()]).sum(0) / torch.stack([*few.values()]).sum(0)
        read = reads.get(name, torch.matmul)
        base = read(x, W)
        changes = [float((y - base).norm() / base.norm()) for y in (read(x, 2 * W), read(2 * x, W))]
        begins = [float(each.log().mean().exp()) for each in (size, grown)]
        found[name] = dict(zip(("size", "step", "weights", "case"), (*begins, *changes), strict=True))
    return found


def reached(
    networks: Networks, cases: Cases, judged: Cases, rates: Sequence[float], updates: int
) -> tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]]:
    """Losses and shares of right answers on `judged` after training on cases, each at the rate best there."""
    loss, right = scores(train(networks, cases, rates, updates), judged)
    means = np.nan_to_num(loss.mean(1), nan=np.inf)
    return loss[means.argmin()], right[right.mean(1).argmax()]

r"""Permutation invariant MNIST: a 784-1000-1000-10 network with each normalization at each batch size.

*Source* Section 6.6 and Figure 6. What the paper says, and is done here: 55,000 training cases, Adam,
batch sizes 128 and 4, layer norm on the two hidden layers only, batch norm on all three layers, its
variance unbiased at the smaller batch size. What it does not say, ours: ReLU, He's initial weights, pixels
scaled to [0, 1], Adam's default step size 0.001, which 5,000 cases are left out (the last), and, added to
the paper's two, batch size 1.

Every normalization acts on the summed inputs, before the nonlinearity. A layer has one bias: the
normalization's own, or the linear map's where there is none (RMS norm has none, and stays without).

*Batch norm at batch size 1.* The unbiased variance of one case does not exist (0/0), so the biased one is
taken, which is 0: the normalized value is exactly 0 whatever the input, a layer's output is its bias, the
logits are the last bias, and no gradient reaches W or any gain. It does not diverge: it learns how frequent
the classes are. At test time the running averages make it a random network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Int64, UInt8
from torch import Tensor, nn

from lnlib import modules
from lnlib.data import Images, load
from lnlib.training import Row, fit, generators, minibatches, sweep

__all__ = ["NORMS", "SCALES", "Norm", "Scale", "learning_curves", "measure", "network", "train"]

Norm = Literal["none", "batch", "layer", "rms"]
NORMS: tuple[Norm, ...] = ("none", "batch", "layer")  # of the comparison; "rms" is there for the curious


@dataclass(frozen=True)
class Scale:
    """How large the experiment is.

    Args:
        data: name of the data set.
        hidden: units of the two hidden layers.
        seeds: how many runs of each setting.
        updates: how many for each batch size.
        points: rows of a run after its first.
        test_cases: rows before the last are measured on about so many, evenly spread; the last on all.
        processes: None for one a core.
    """

    data: str
    hidden: tuple[int, int]
    seeds: int
    updates: Mapping[int, int]
    points: int
    test_cases: int
    processes: int | None


_EPOCHS = 60  # at paper scale; the text gives no number

SCALES: dict[str, Scale] = {
    "smoke": Scale("digits", (64, 64), 2, {128: 120, 4: 300, 1: 300}, points=4, test_cases=1000, processes=1),
    "book": Scale(
        "mnist", (1000, 1000), 4, {128: 280, 4: 500, 1: 500}, points=8, test_cases=1000, processes=None
    ),
    "paper": Scale(
        "mnist",
        (1000, 1000),
        5,
        {128: _EPOCHS * 429, 4: _EPOCHS * 13_750},
        points=_EPOCHS,
        test_cases=10_000,
        processes=1,
    ),
}


def learning_curves(
    scale: str,
    seed: int = 0,
    *,
    images: Images | None = None,
    norms: Sequence[Norm] = NORMS,
    batch_sizes: Sequence[int] | None = None,
    device: str = "cpu",
    processes: int | None = None,
    progress: bool | None = None,
) -> list[Row]:
    """Train every normalization at every batch size with several seeds: the data of Figure 6.

    Args:
        scale: a name of `SCALES`.
        seed: the first seed; the others count up from it. Runs of one seed share their initial weights,
            and those of one batch size their order of the data too.
        images: default: the scale's data set.
        norms: which normalizations.
        batch_sizes: default: the scale's.
        device: where to compute.
        processes: default: the scale's.
        progress: as in `lnlib.training.sweep`.

    Returns:
        Rows with norm, batch_size, seed, update, cases_seen, seconds, train_loss (as `lnlib.training.fit`
        has them), test_nll (nats a case), test_error (a fraction), test_cases (how many those two are
        measured on: about the scale's `test_cases` while training, all at the end); in the order of
        `norms`, then by falling batch size, seed, update.

    >>> rows = learning_curves("smoke", norms=["layer"], batch_sizes=[4])
    >>> rows[-1]["update"], rows[-1]["test_error"] < 0.3
    (300, True)
    """
    size = _scale(scale)
    images = images or load(size.data)
    sizes = tuple(size.updates) if batch_sizes is None else tuple(batch_sizes)
    unknown = sorted(set(sizes) - set(size.updates))
    if unknown:
        raise ValueError(f"Scale {scale!r} has batch sizes {sorted(size.updates)}, not {unknown}.")
    jobs = [
        {"norm": norm, "batch_size": batch_size, "seed": seed + k, "scale": scale, "device": device}
        for batch_size in sorted(sizes, reverse=True)  # the long runs first
        for norm in norms
        for k in range(size.seeds)
    ]
    arrays = (images.train_x, images.train_y, images.test_x, images.test_y)
    runs = sweep(
        train, jobs, common=(arrays, images.peak), processes=processes or size.processes, progress=progress
    )
    order = {norm: k for k, norm in enumerate(norms)}
    return sorted(chain(*runs), key=lambda r: (order[r["norm"]], -r["batch_size"], r["seed"], r["update"]))


def train(
    arrays: tuple[
        UInt8[np.ndarray, "N h w"],
        Int64[np.ndarray, " N"],
        UInt8[np.ndarray, "M h w"],
        Int64[np.ndarray, " M"],
    ],
    peak: int,
    *,
    norm: Norm,
    batch_size: int,
    seed: int,
    scale: str,
    device: str = "cpu",
) -> list[Row]:
    """One run of `learning_curves`: training and test arrays in, rows out."""
    size = _scale(scale)
    x, y, test_x, test_y = (torch.from_numpy(array) for array in arrays)
    x, test_x = x.flatten(1), test_x.flatten(1)
    weights, order = generators(seed)
    units = (x.shape[1], *size.hidden, int(y.max()) + 1)
    model = network(units, norm, weights, unbiased=1 < batch_size < 128).to(device)
    batches = ((a.float() / peak, b) for a, b in minibatches(x, y, batch_size, order))
    updates = size.updates[batch_size]
    stride = max(1, len(test_x) // size.test_cases)
    rows = fit(
        model,
        batches,
        F.cross_entropy,
        torch.optim.Adam(model.parameters(), fused=True),
        updates=updates,
        device=device,
        every=-(-updates // size.points),
        evaluate=lambda m: measure(m, test_x[::stride], test_y[::stride], peak, device),
        progress=False,
    )
    if stride > 1:
        model.eval()
        rows[-1] |= measure(model, test_x, test_y, peak, device)
    return [{"norm": norm, "batch_size": batch_size, "seed": seed} | row for row in rows]


@torch.no_grad()
def measure(
    model: nn.Module,
    x: UInt8[Tensor, "N D"],
    y: Int64[Tensor, " N"],
    peak: int,
    device: str = "cpu",
) -> dict[str, float]:
    """Negative log-likelihood (nats a case) and error of a model, in the mode that it is in."""
    nll, wrong = 0.0, 0
    for a, b in zip(x.split(1000), y.to(device).split(1000), strict=True):
        logits = model(a.to(device).float() / peak)
        nll += float(F.cross_entropy(logits, b, reduction="sum"))
        wrong += int((logits.argmax(1) != b).sum())
    return {"test_nll": nll / len(x), "test_error": wrong / len(x), "test_cases": len(x)}


def network(
    units: Sequence[int], norm: Norm, generator: torch.Generator, *, unbiased: bool = False
) -> nn.Sequential:
    """A fully connected ReLU network that gives logits, normalized as Section 6.6 says.

    Args:
        units: of the inputs, of each hidden layer, and the classes.
        norm: "batch" normalizes the logits too; "layer" and "rms" the hidden layers only.
        generator: draws the weights (He: normal, variance 2 / inputs), the same for every `norm`.
        unbiased: of batch norm's variance.

    Raises `ValueError` for another `norm`.

    >>> network([4, 3, 2], "layer", torch.Generator())
    Sequential(
      (0): Linear(in_features=4, out_features=3, bias=False)
      (1): LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=True)
      (2): ReLU()
      (3): Linear(in_features=3, out_features=2, bias=True)
    )
    """
    if norm not in get_args(Norm):
        raise ValueError(f"The normalizations are {', '.join(get_args(Norm))}, not {norm!r}.")
    layers: list[nn.Module] = []
    for level, (inputs, outputs) in enumerate(pairwise(units)):
        is_last = level == len(units) - 2
        normalization = _normalization(norm, outputs, is_last, unbiased)
        layers.append(_linear(inputs, outputs, normalization is None, generator))
        layers += [] if normalization is None else [normalization]
        layers += [] if is_last else [nn.ReLU()]
    return nn.Sequential(*layers)


class BatchNorm(modules.BatchNorm):
    """`lnlib.modules.BatchNorm` that takes batches of one case too.

    Such a batch moves the running averages towards that case and its biased variance, 0. (`momentum` is
    0.1, as in torch; at batch size 4, 0.01 gives test errors within those of different seeds.)
    """

    @torch.no_grad()
    def _track(self, a: Tensor, mean: Tensor, var: Tensor) -> None:
        if len(a) > 1:
            super()._track(a, mean, var)
        else:
            assert self.momentum is not None  # no cumulative averages here
            mean.lerp_(a[0], self.momentum)
            var.lerp_(torch.zeros_like(var), self.momentum)


def _normalization(norm: Norm, units: int, is_last: bool, unbiased: bool) -> nn.Module | None:
    if norm == "batch":
        return BatchNorm(units, unbiased=unbiased)
    if norm == "none" or is_last:
        return None
    return modules.RMSNorm(units, eps=1e-5) if norm == "rms" else modules.LayerNorm(units)


def _linear(inputs: int, outputs: int, bias: bool, generator: torch.Generator) -> nn.Linear:
    layer = nn.utils.skip_init(nn.Linear, inputs, outputs, bias=bias)  # draws nothing from the global state
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def _scale(name: str) -> Scale:
    if name not in SCALES:
        raise ValueError(f"The scales are {', '.join(SCALES)}, not {name!r}.")
    return SCALES[name]

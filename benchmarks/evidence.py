"""Laplace's evidence of one function under several weights, by laplace-torch and by lnlib.

    python benchmarks/evidence.py             print the table (a minute on one thread)
    python benchmarks/evidence.py --record    and keep it in book/results/benchmarks/

The network and the digits are those of the Fisher page at book scale; the prior's precision is 1. Two lines
for each factor on the weights in front of the norms: as they are, and after `canonical`.
Times are milliseconds, medians over rounds in each of which both take a turn. Needs the extra `laplace`.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from statistics import median

import torch
from rounds import Row, in_turn, run
from torch import Tensor, nn
from torch.func import jvp
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from lnbook.pages.beyond_exact_fisher import models
from lnbook.pages.beyond_exact_fisher.gauge import canonical
from lnlib.fisher import GGN

# A dependency of laplace-torch imports torchvision. Where torch is built for the CPU and torchvision is not,
# that import stops at the first of these operators unless they are declared. Nothing here calls them.
OPERATORS = ("nms", "qnms")
SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
DECLARED = torch.library.Library("torchvision", "FRAGMENT")
try:
    import torchvision  # noqa: F401 - to see whether it can be
except RuntimeError:
    for operator in OPERATORS:
        DECLARED.define(operator + SCHEMA)

# A dependency of laplace-torch and torch's own first jvp still call the deprecated torch.jit.script.
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from laplace import Laplace

    jvp(torch.sin, (torch.zeros(()),), (torch.zeros(()),))


CASES, HIDDEN, STEPS = 1318, 12, 200
FACTORS = (0.2, 1.0, 5.0)


def laplace_torch(model: nn.Module, X: Tensor, y: Tensor, prior_precision: float = 1.0) -> float:
    """The log marginal likelihood of the class labels, in nats, with the full Gauss-Newton matrix.

    laplace-torch makes some constants in torch's default dtype; set it to the model's for full precision.
    """
    options = {"subset_of_weights": "all", "hessian_structure": "full", "prior_precision": prior_precision}
    posterior = Laplace(model, "classification", **options)
    posterior.fit(DataLoader(TensorDataset(X, y), batch_size=len(X)))
    return float(posterior.log_marginal_likelihood())


def log_evidence(model: nn.Module, X: Tensor, y: Tensor, prior_precision: float = 1.0) -> float:
    r"""The logarithm of Laplace's approximation of the evidence of the classes (nats), logits as outputs.

    $$\sum_n\log p(y_n\mid z_n) - \frac\delta2\|\theta\|^2
      - \frac12\log\det\Big(I + \frac N\delta F\Big),\qquad \theta\sim\mathcal N(0, I/\delta).$$

    *Source* MacKay (1992), Daxberger et al. (2021); what norms do to it: Antorán et al. (2022).
    """
    F = GGN(model, X)
    ratio = F.to_dense() * (len(X) / prior_precision)
    ratio.diagonal().add_(1)
    cost = prior_precision * F.theta.square().sum() + torch.logdet(ratio)
    return -float(cross_entropy(F.outputs, y, reduction="sum") + cost / 2)


def measure(rounds: int) -> Iterator[Row]:
    """Both evidences and times at each factor, of the weights as they are and canonical."""
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    x, y = models.pooled_digits(CASES)
    model = models.trained_network(x, y, hidden=HIDDEN, seed=0, steps=STEPS)
    for factor in FACTORS:
        plain = models.stretched(model, factor)
        for taken, weights in {"as they are": plain, "canonical": canonical(plain, x)}.items():
            calls = {
                "laplace_torch": partial(laplace_torch, weights, x, y),
                "lnlib": partial(log_evidence, weights, x, y),
            }
            row: Row = {"factor": factor, "weights": taken} | {name: call() for name, call in calls.items()}
            for name, each in in_turn(calls, rounds, warm_up=0).items():
                row[f"{name}_ms"] = round(median(each), 1)
            yield row


if __name__ == "__main__":
    run(__doc__, "evidence", measure, "{:<8}{:<13}{:>15}{:>15}{:>18}{:>10}", rounds=3, digits=10)

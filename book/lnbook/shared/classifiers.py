r"""Classifiers of pictures: what experiments 6.6 and 6.7 share. Runs, layers, their norms, measures.

*Batch norm at batch size 1.* The unbiased variance of one case does not exist (0/0), so the biased one is
taken, which is 0: the normalized value is exactly 0 whatever the input, a layer's output is its bias, the
logits are the last bias, and no gradient reaches W or any gain. It does not diverge: it learns how frequent
the classes are. At test time the running averages make it a random network.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from lnbook.training import Cases, Task
from lnlib.norms import modules
from lnlib.norms.batch import batch_norm

BINS = 15  # of confidence; Guo et al. (2017) take as many


class BatchNorm(modules.BatchNorm):
    """`lnlib.norms.modules.BatchNorm` that takes batches of one case too.

    Such a batch moves the running averages towards that case and its biased variance, 0.
    """

    def forward(self, a: Float[Tensor, "N H *space"]) -> Float[Tensor, "N H *space"]:
        if len(a) > 1 or not self.training:
            return super().forward(a)
        mean, var, momentum = self.running_mean, self.running_var, self.momentum
        assert mean is not None
        assert var is not None
        assert momentum is not None  # no cumulative averages here
        with torch.no_grad():
            mean.lerp_(a[0], momentum)
            var.lerp_(torch.zeros_like(var), momentum)
        return batch_norm(a, self.weight, self.bias, self.eps, self.unbiased)


class Classifier(Task):
    """One run on pictures: cases are pixels from 0 to `peak`, and classes."""

    peak: float
    dtype: torch.dtype

    def scaled(self, pixels: Tensor) -> Tensor:
        """Pixels from 0 to 1."""
        return pixels.to(self.dtype).div_(self.peak)

    def loss(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Float[Tensor, ""]:
        return F.cross_entropy(model(self.scaled(cases[0])), cases[1])

    def measure(self, model: nn.Module, cases: Cases, noise: torch.Generator) -> Mapping[str, Tensor]:
        return measures(model(self.scaled(cases[0])), cases[1])

    def summary(self, means: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        return calibration_error(means)


def initialize(layer: nn.Module, generator: torch.Generator) -> None:
    """He's initial weights, drawn from `generator`: normal, variance 2 / inputs; biases 0."""
    assert isinstance(layer.weight, Tensor)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu", generator=generator)
    if isinstance(layer.bias, Tensor):
        nn.init.zeros_(layer.bias)


def measures(logits: Float[Tensor, "N K"], y: Int64[Tensor, " N"]) -> dict[str, Tensor]:
    r"""Sums over cases: `nll` (nats), `error`, `confidence` (largest probability), `brier`, and `gaps`.

    `gaps` holds, for each of `BINS` equal intervals of confidence, the sum of confidence minus correctness;
    `calibration_error` makes the expected calibration error of their means.
    """
    log_p = logits.double().log_softmax(1)
    p = log_p.exp()
    confidence, answer = p.max(1)
    correct = (answer == y).double()
    gaps = torch.zeros(BINS, dtype=torch.float64, device=logits.device)
    gaps.index_add_(0, (confidence * BINS).long().clamp_(0, BINS - 1), confidence - correct)
    return {
        "nll": F.nll_loss(log_p, y, reduction="sum"),
        "error": (1 - correct).sum(),
        "confidence": confidence.sum(),
        "brier": (p - F.one_hot(y, p.shape[1])).square().sum(),
        "gaps": gaps,
    }


def calibration_error(means: Mapping[str, Tensor]) -> dict[str, Tensor]:
    r"""The means of `measures`, with `calibration_error` $\sum_b \lvert\text{gap}_b\rvert$ for `gaps`.

    *Source* Guo, Pleiss, Sun, Weinberger (2017), Eq. (3).
    """
    rest = {name: value for name, value in means.items() if name != "gaps"}
    return rest | {"calibration_error": means["gaps"].abs().sum()}

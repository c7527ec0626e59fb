r"""Laplace's approximation of the evidence of a classifier, its curvature the Fisher information."""

import math

import torch
from jaxtyping import Int64, Shaped
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lnlib.fisher import GGN


def log_evidence(
    model: nn.Module, X: Shaped[Tensor, "N ..."], y: Int64[Tensor, " N"], prior_precision: float = 1.0
) -> float:
    r"""The logarithm of Laplace's approximation of the evidence of the classes, at the model's parameters.

    $$\sum_n\log p(y_n\mid z_n) - \frac\delta2\|\theta\|^2
      - \frac12\log\det\Big(I + \frac N\delta F\Big),\qquad \theta\sim\mathcal N(0, I/\delta).$$

    A direction that no prediction sees adds nothing to the determinant. Yet W in front of a norm and 5W, one
    function, have different evidence: another $\|\theta\|^2$, and 1/25 of the curvature. The evidence of
    ``canonical(model, X)`` is one number for all weights of a function; its prior is over weights of that
    length without common vectors.

    *Source* MacKay (1992); with the generalized Gauss-Newton matrix Daxberger et al. (2021), and for
    what norms do to it Antorán et al. (2022).

    Args:
        model, X: as of :class:`lnlib.fisher.GGN`; the outputs are logits.
        y: classes.
        prior_precision: $\delta > 0$ of all parameters.

    Returns:
        Nats. O(P^3) time and O(P^2) memory.

    >>> model = nn.Linear(1, 2, bias=False)
    >>> _ = nn.init.zeros_(model.weight)
    >>> round(log_evidence(model, torch.ones(1, 1), torch.tensor([0])), 4)  # log(1/2) - log(3/2) / 2
    -0.8959
    """
    if not 0 < prior_precision < math.inf:
        raise ValueError(
            f"prior_precision is {prior_precision}; the prior's variance is its inverse, give a number > 0"
        )
    F = GGN(model, X)
    fit = -float(cross_entropy(F.outputs, y, reduction="sum"))
    size = sum(float(v.square().sum()) for v in F.values.values())
    ratio = F.to_dense() * (len(X) / prior_precision)
    ratio.diagonal().add_(1)
    volume = float(torch.linalg.cholesky(ratio).diagonal().log().sum())  # half the log of the determinant
    return fit - prior_precision / 2 * size - volume

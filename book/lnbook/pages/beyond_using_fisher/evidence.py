r"""Laplace's approximation of the evidence of a network, its curvature the Fisher information."""

import math

import torch
from jaxtyping import Shaped
from torch import Tensor, nn

from lnlib.fisher import GGN
from lnlib.glm.families import named_family


def log_evidence(
    model: nn.Module,
    X: Shaped[Tensor, "N ..."],
    y: Shaped[Tensor, "N *K"],
    family: str = "categorical",
    prior_precision: float = 1.0,
    dispersion: float = 1.0,
) -> float:
    r"""The logarithm of Laplace's approximation of the evidence of the outcomes, at the model's parameters.

    $$\sum_n\log p(y_n\mid z_n) - \frac\delta2\|\theta\|^2
      - \frac12\log\det\Big(I + \frac N\delta F\Big),\qquad \theta\sim\mathcal N(0, I/\delta).$$

    A direction that no prediction sees adds nothing to the determinant. Yet W in front of a norm and 5W, one
    function, have different evidence: another $\|\theta\|^2$, and 1/25 of the curvature. The evidence of
    ``canonical(model, X)`` is one number for all weights of a function; its prior is over weights of that
    length without common vectors.

    *Source* MacKay (1992); with the generalized Gauss-Newton matrix Daxberger et al. (2021), and for
    what norms do to it Antorán et al. (2022).

    Args:
        model, X, family, dispersion: as of :class:`lnlib.fisher.GGN`.
        y: outcomes: classes, (N,), of a categorical family, else (N, K).
        prior_precision: $\delta > 0$ of all parameters.

    Returns:
        Nats. O(min(P, NK)^3) time and memory for the smaller side's square.

    Raises:
        ValueError: a precision that is not positive, outcomes that the family does not have, as `GGN`.

    >>> model = nn.Linear(1, 1, bias=False)
    >>> _ = nn.init.zeros_(model.weight)
    >>> one = torch.ones(1, 1)
    >>> round(log_evidence(model, one, 0 * one, "gaussian"), 4)  # log N(0; 0, 2)
    -1.2655
    """
    if not 0 < prior_precision < math.inf:
        raise ValueError(
            f"prior_precision is {prior_precision}; the prior's variance is its inverse, give a number > 0"
        )
    F, distribution = GGN(model, X, family, dispersion=dispersion), named_family(family)
    distribution.check_outcome(y, F.outputs, dispersion)
    fit = float(distribution.log_likelihood(y, F.outputs, dispersion).sum())
    size = sum(float(v.square().sum()) for v in F.values.values())
    if F.shape[0] <= F.outputs.numel():
        side = F.to_dense()
    else:
        B = torch.cat(list(F.factor()))
        side = B @ B.mT
    side = side * (len(X) / prior_precision)
    side.diagonal().add_(1)
    volume = float(torch.linalg.cholesky(side).diagonal().log().sum())  # half the log of the determinant
    return fit - prior_precision / 2 * size - volume

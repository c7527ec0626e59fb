r"""Damped natural-gradient directions: $(F + \lambda I)^{-1}v$ on the smaller side."""

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.covariance import OutputCovariance
from lnlib.fisher.factor import gram
from lnlib.fisher.linearization import Linearization
from lnlib.glm import GLM

__all__ = ["woodbury_solve"]


@torch.no_grad()
def woodbury_solve(
    glm: GLM, lin: Linearization, C: OutputCovariance, v: Float[Tensor, " P"], damping: float
) -> Float[Tensor, " P"]:
    r"""$(B^\top B + \lambda I)^{-1}v = \frac1\lambda\big(v - B^\top(BB^\top + \lambda I)^{-1}Bv\big)$.

    Costs $O(N^2H^2(H + D) + N^3H^3)$ and never forms B. The subtraction loses about
    $\log_{10}(\|F\|/\lambda)$ digits along the directions that F sees.
    """
    K = gram(lin, C)
    K.diagonal().add_(damping)
    L, root = C.factor(), lin.share.sqrt()[:, None]
    Bv = root * (L.mT @ lin.push(*glm.unpack(v))[:, :, None]).squeeze(2)
    r = torch.cholesky_solve(Bv.flatten()[:, None], torch.linalg.cholesky(K)).view_as(Bv)
    back = (L @ r[:, :, None]).squeeze(2) / root.where(root > 0, 1)  # pull multiplies by the share
    return (v - glm.pack(*lin.pull(back))) / damping

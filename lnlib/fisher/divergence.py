r"""The Kullback-Leibler divergence between two models: the left side of Eq. (8)."""

from jaxtyping import Float
from torch import Tensor

from lnlib.glm import GLM

__all__ = ["kl"]


def kl(
    glm: GLM, other: GLM, X: Float[Tensor, "N D"], weights: Float[Tensor, " N"] | None = None
) -> Float[Tensor, ""]:
    r"""$E_x\,D_{KL}\big[P(y|x;\theta)\,\|\,P(y|x;\theta')\big]$, exactly; differentiable in both models.

    *Source* Eq. (8), left side. *Erratum* the print has no expectation over x on this side.

    Args:
        glm, other: models of one family, dispersion and number of units.
        X: cases, (N, D).
        weights: of the cases, (N,), normalized to sum 1.

    >>> import torch
    >>> one = GLM("gaussian", torch.tensor([[2.0]]), torch.tensor([0.0]))
    >>> two = GLM("gaussian", torch.tensor([[2.0]]), torch.tensor([0.5]))
    >>> kl(one, two, torch.tensor([[1.0], [3.0]]))
    tensor(0.1250)
    """
    return glm.case_weights(X, weights) @ glm.kl(other, X, weights)

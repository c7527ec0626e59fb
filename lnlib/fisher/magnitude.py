r"""Learning the magnitude of incoming weights: the metric along gains, or along the lengths of the rows of W.

In a normalized model the length of a row is a parameter of its own, the gain. Without a normalization the
same step is $w_i \to w_i + \delta_{gi}\,w_i/\|w_i\|_2$. Either way output i moves by
$\delta_{gi}\,\hat a_i$, and with $C = \mathrm{Cov}[y|x]/\phi^2$
$$ds^2 = \frac12 E_x\Big[\sum_{ij}\delta_{gi}\hat a_i\,C_{ij}\,\hat a_j\delta_{gj}\Big].$$
What differs is $\hat a$.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.fisher.linearization import linearize
from lnlib.glm import GLM
from lnlib.glm.model import Weights, check_array

__all__ = ["gain_metric", "standard_magnitude_metric"]


@torch.no_grad()
def gain_metric(
    glm: GLM,
    X: Float[Tensor, "N D"],
    delta_g: Float[Tensor, " H"],
    weights: Weights = None,
    *,
    printed: bool = False,
) -> Float[Tensor, ""]:
    r"""How far a normalized model moves when its gains change: $\frac12\delta_g^\top F_{gg}\,\delta_g$.

    $\frac12\sum_{ij}\delta_{gi}\delta_{gj}\,E_x[C_{ij}\hat a_i\hat a_j]$ with
    $\hat a_i = (a_i-\mu_i)/\sigma_i$; O(NH) beside the summed inputs for independent outputs.

    *Source* Eqs. (32) to (34); for RMSNorm ours. *Erratum* Eq. (32), for batch norm, prints
    $E_x[C_{ij}]$ for $E_x[C_{ij}\hat a_i\hat a_j]$, right where C is diagonal and the same for every case.

    Args:
        glm: a model with a normalization.
        X: cases, (N, D).
        delta_g: change of the gains, (H,).
        weights: of the cases, (N,), normalized to sum 1.
        printed: the equation as printed: another number for batch norm, the same for layer and weight norm.

    Raises:
        TypeError: a change of another dtype than the model.
        ValueError: a model without gains, a change of another shape or not finite, `printed` for RMSNorm.

    >>> glm = GLM("gaussian", torch.tensor([[2.0], [1.0]]), torch.zeros(2), norm="layer")
    >>> gain_metric(glm, torch.tensor([[1.0], [3.0]]), torch.tensor([1.0, 2.0]))
    tensor(2.5000)
    """
    if glm.norm is None:
        raise ValueError("the model has no norm, hence no gains; use standard_magnitude_metric")
    if printed and glm.norm == "rms":
        raise ValueError("the paper prints no equation for rms norm; leave printed=False")
    check_array("delta_g", delta_g, glm.b, glm.b.shape)
    lin = linearize(glm, X, weights)
    move = delta_g.expand_as(lin.unit) if printed and glm.norm == "batch" else lin.unit * delta_g
    return lin.share @ (move * glm.scaled_covariance(X, weights).times(move)).sum(1) / 2


@torch.no_grad()
def standard_magnitude_metric(
    glm: GLM,
    X: Float[Tensor, "N D"],
    delta_g: Float[Tensor, " H"],
    i: int | None = None,
    j: int | None = None,
    weights: Weights = None,
) -> Float[Tensor, ""]:
    r"""How far a model without normalization moves when rows of W grow along themselves.

    Row k moves by $\delta_{gk}w_k/\|w_k\|_2$: every row, or rows i and j only. With
    $\hat a_k = w_k^\top x/\|w_k\|_2$ and sums over the rows that move,
    $ds^2 = \frac12\sum_{kl}\delta_{gk}\delta_{gl}\,E_x[C_{kl}\hat a_k\hat a_l]$.

    *Source* Eq. (35). *Erratum* for the step of rows i and j the print has
    $\frac12\delta_{gi}\delta_{gj}E_x[C_{ij}\hat a_i\hat a_j]$, one of four terms, 0 for independent outputs:
    :func:`lnlib.equations.eq35`.

    Args:
        glm: a model without a normalization.
        X: cases, (N, D).
        delta_g: growth of the rows, (H,).
        i, j: the two rows that move; all of them if neither is given.
        weights: of the cases, (N,), normalized to sum 1.

    Raises:
        TypeError: a growth of another dtype than the model.
        ValueError: a model with a normalization, a growth of another shape or not finite, only one of i and
            j, a zero row that is to grow.
        IndexError: i or j is no row of W.

    >>> glm = GLM("gaussian", torch.tensor([[3.0, 4.0], [0.0, 2.0]]), torch.zeros(2))
    >>> standard_magnitude_metric(glm, torch.tensor([[1.0, 0.5]]), torch.ones(2))
    tensor(0.6250)
    """
    if glm.norm is not None:
        raise ValueError(f"the model has norm {glm.norm!r}, where gains set the magnitude; use gain_metric")
    check_array("delta_g", delta_g, glm.b, glm.b.shape)
    H, length = len(glm.b), torch.linalg.vector_norm(glm.W, dim=1)
    pair = (i, j)
    if (i is None) != (j is None):
        raise ValueError(f"the pair of rows is {pair}; give both i and j, or neither for all rows")
    if i is not None and j is not None:
        if not (0 <= i < H and 0 <= j < H):
            raise IndexError(f"the pair of rows is {pair}; the model has rows 0..{H - 1}")
        kept = torch.zeros_like(delta_g)
        kept[[i, j]] = 1
        delta_g = delta_g * kept
    rows = ((length == 0) & (delta_g != 0)).nonzero().flatten().tolist()
    if rows:
        raise ValueError(
            f"rows {rows} of W are zero and have no direction to grow in; set their delta_g to 0"
        )
    share = glm.case_weights(X, weights)
    move = (X @ glm.W.mT) * torch.where(delta_g == 0, 0.0, delta_g / length)
    return share @ (move * glm.scaled_covariance(X, weights).times(move)).sum(1) / 2

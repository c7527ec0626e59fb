r"""How many directions the exact Fisher cannot see, by theory.

Let the cases span r dimensions, r1 with a constant feature added. A direction is invisible if it changes no
natural parameter of any case, or all of a case's by the same number under a softmax without reference class.

*None, batch, weight.* Each $z_i$ moves within the affine functions of x on the data, all of them as long as
$g_i\ne0$: rank $H\,r_1$, or $(H-1)\,r_1$ under a softmax, which forgets one affine function.

*Layer, rms.* With c the summed inputs (centered under layer norm), $c_i = c_i^\top x$, a direction
$(V, v_b, v_g)$ moves $\sigma^3z_i$ by
$$g_i\big(\sigma^2\,V_i^\top x - c_i\,c^\top Vx/H\big) + \sigma^2 c_i\,v_{gi} + \sigma^3 v_{bi},$$
polynomials in x but for the root $\sigma^3$: hence $v_b = 0$. Where c has rank 2 or more,
$\sigma^2 = |c|^2/H + \epsilon$ is irreducible, so that it divides $c^\top Vx$. That is $\alpha|c|^2$, with
$\alpha = 0$ if $\epsilon > 0$ (a divisor of a homogeneous polynomial is homogeneous), and
$V_i = (\alpha - \gamma_i)c_i$ with $\gamma = v_g/g$. What is left are equations between coefficients,
$$\sum_i\gamma_ic_i = 0\ \text{(layer)},\qquad\sum_i\gamma_i\,c_ic_i^\top = 0 .$$
Free are $\alpha$ if $\epsilon = 0$, a common shift of all rows (layer), and the rows in the $D-r$ dimensions
without data. A softmax frees a common bias too, and a common numerator $\ell^\top x$: row i gains $\ell/g_i$;
the equations become $\sum_i(\gamma_ic_i - \ell/g_i) = 0$ and $\sum_i(\gamma_ic_i - \ell/g_i)c_i^\top$
antisymmetric.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from lnlib.glm import GLM
from lnlib.glm.checks import check_features
from lnlib.glm.families import Categorical

__all__ = ["nullity_in_theory"]


@torch.no_grad()
def nullity_in_theory(glm: GLM, X: Float[Tensor, "N D"]) -> int:
    r"""The nullity that the module's argument gives for this model's weights on cases in general position.

    *Source* ours. Holds for gains without zeros and cases in general position in the space they span: for
    layer norm and RMSNorm at least $r(r+5)/2 + 1$ of them; for batch norm with eps = 0 no constant unit.

    Raises:
        ValueError: a zero gain, fewer cases than the argument needs, or parallel rows of W.

    >>> draw = torch.Generator().manual_seed(0)
    >>> X, W = torch.randn(50, 3, generator=draw), torch.randn(5, 3, generator=draw)
    >>> nullity_in_theory(GLM("bernoulli", W, torch.zeros(5), norm="layer"), X)
    4
    """
    check_features(X, glm.W)
    H, D = glm.W.shape
    if glm.gain is not None and bool((glm.gain == 0).any()):
        raise ValueError(
            "a gain is 0, and its unit sees nothing of its weights; the argument needs all gains"
        )
    softmax = isinstance(glm.distribution, Categorical) and not glm.distribution.reference
    seen, P = H - softmax, glm.theta.numel()
    if seen == 0:  # a softmax of one class
        return P
    if glm.norm not in ("layer", "rms"):
        return P - seen * int(torch.linalg.matrix_rank(torch.cat([X, torch.ones_like(X[:, :1])], 1)))
    r = int(torch.linalg.matrix_rank(X))
    if 2 * len(X) < r * (r + 5) + 2:
        raise ValueError(
            f"{len(X)} cases span {r} dimensions; the argument needs at least {r * (r + 5) // 2 + 1} cases"
        )
    basis = torch.linalg.svd(X).Vh[:r]
    rows = glm.W @ basis.mT
    if glm.norm == "layer":
        rows = rows - rows.mean(0)
    rank = int(torch.linalg.matrix_rank(rows)) if rows.numel() else 0
    if rank == 0:  # nothing is normalized: only the biases are seen
        return P - seen
    if rank == 1 and glm.eps == 0:
        if r > 1 and len(rows) - (glm.norm == "layer") > 1:
            raise ValueError("the rows of W are parallel; the argument needs them in general position")
        signs = torch.sign(X @ basis.mT @ rows[0])  # all that the normalized values tell
        return P - seen * len(signs.unique())
    equations = _equations(rows, glm, softmax)
    free = H * (D - r) + (r if glm.norm == "layer" else 0) + (glm.eps == 0) + softmax
    return free + equations.shape[1] - int(torch.linalg.matrix_rank(equations))


def _equations(c: Float[Tensor, "H R"], glm: GLM, softmax: bool) -> Float[Tensor, "E U"]:
    r"""The linear equations on $\gamma$, and on $\ell$ under a softmax: one column an unknown."""
    r = c.shape[1]
    moves = torch.diag_embed(torch.ones_like(c[:, 0]))[:, :, None] * c  # (unknown, unit, R): gamma_i c_i
    if softmax:
        assert glm.gain is not None
        ell = torch.eye(r, dtype=c.dtype, device=c.device)
        moves = torch.cat([moves, -ell[:, None, :] / glm.gain[:, None]])
    second = torch.einsum("uir,is->urs", moves, c)
    i, j = torch.triu_indices(r, r, device=c.device)
    rows = [(second + second.mT)[:, i, j]]
    if glm.norm == "layer":
        rows.append(moves.sum(1))
    return torch.cat(rows, 1).mT

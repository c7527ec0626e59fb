"""Residual depth: the gradient of a block at initialization, by depth and by where layer norm stands."""

from lnbook.explore.element import Element
from lnbook.pages.beyond_transformers.residual_gradients import CASES, exponent, gradient_by_depth

PLACEMENTS = {"pre": "pre-LN", "post": "post-LN", "none": "no norm"}
WIDTH = 16  # that the figure starts with
DEPTHS = (1, 4, 16, 64)  # of the table; the figure has the powers of two between them as well


def residual_depth(*, seed: int = 0) -> Element:
    r"""The gradient that the blocks of a residual network get at the start, by its depth.

    Three stacks of L blocks $F(u) = W_2\,\mathrm{relu}(W_1u)$ with the same random weights: layer norm in
    the branch (pre-LN), after the sum (post-LN), or nowhere. A block adds the variance $c$. The limits for
    infinitely many units are $(1+cl)^{-1/2}$, $(1+c)^{-1/2}$ and $(1+c)^{(L-1)/2}$.

    *Source* Xiong et al. (2020), Theorem 1; the model is that of
    :mod:`lnbook.pages.beyond_transformers.residual_gradients`, with 4 cases; the figure is ours.
    """
    unit, rows = (4 * WIDTH / CASES) ** 0.5, []  # of a single wide block without a norm
    for placement, name in PLACEMENTS.items():
        norms = gradient_by_depth(placement, DEPTHS, WIDTH, range(3)) / unit
        power = "" if placement == "none" else f"{exponent(DEPTHS[1:], norms[:, 1:]).mean():.2f}"
        rows.append([name, *(f"{value:.2g}" for value in norms.mean(0)), power])
    caption = (
        f"The gradient of the last block's weights in residual networks of {WIDTH} units at initialization, "
        f"mean of 3 networks; 1 is that of a single wide block without a norm. With layer norm after the sum "
        f"(post-LN) depth matters less. With layer norm in the branch (pre-LN) the gradient falls about as "
        f"one over the root of the depth."
    )
    head = ["", *(f"depth {L}" for L in DEPTHS), "power of L, 4 to 64"]
    return Element("residual_depth", {"seed": seed, "width": WIDTH}, caption, head, rows)

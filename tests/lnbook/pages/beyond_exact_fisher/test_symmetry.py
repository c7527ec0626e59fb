"""Layer norm's hidden symmetry: directions that no output feels, and finite moves along them."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.pages.beyond_exact_fisher import symmetry
from lnlib.fisher import FisherOperator
from lnlib.glm import GLM
from lnlib.norms.normalize import layer_norm

seeds = st.integers(0, 2**31)


def draws(seed: int):
    generator = torch.Generator().manual_seed(seed)
    return lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)


def slid(W: torch.Tensor, g: torch.Tensor, t: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Centered rows times t, gains over t."""
    return W.mean(0) + t[:, None] * (W - W.mean(0)), g / t


def test_wide_layers_have_the_directions_that_the_count_promises() -> None:
    draw = draws(1)
    for H, D in ((3, 1), (5, 2), (6, 2), (11, 2), (9, 3), (10, 3), (20, 4)):
        found = symmetry.hidden_directions(draw(H, D)).shape[1]
        assert found == max(0, H - D - D * (D + 1) // 2)
        X, W, b, g = draw(60, D), draw(H, D), draw(H), (draw(H) / 3).exp()
        operator = FisherOperator(GLM("bernoulli", W, b, norm="layer", gain=g), X)
        assert operator.null_space(1e-9).nullity == D + 1 + found


@given(seeds, st.sampled_from([(5, 1), (7, 2), (12, 3)]))
def test_a_slide_changes_the_weights_and_no_output(seed, shape) -> None:
    draw = draws(seed)
    W, g, b, X = draw(*shape), (draw(shape[0]) / 3).exp(), draw(shape[0]), draw(100, shape[1])
    path = symmetry.slide(W, symmetry.hidden_directions(W)[:, 0], length=0.3)
    assert (path > 0).all()
    before = layer_norm(X @ W.mT, g, b, eps=0.0)
    W_t, g_t = slid(W, g, path[-1])
    after = layer_norm(X @ W_t.mT, g_t, b, eps=0.0)
    # 1e-11: rounding, times the smallest sigma among 100 cases over the largest.
    assert (after - before).norm() <= 1e-11 * before.norm()
    if len(path) == 16:  # the whole way, no gain diverged
        assert (path[-1] - 1).norm() > 0.1
        assert (W_t - W).norm() > 1e-3 * W.norm()


def test_a_slide_stops_before_a_gain_diverges() -> None:
    draw = draws(4)
    W = draw(7, 2)
    path = symmetry.slide(W, draw(7), length=100.0, step=0.05)
    assert len(path) < 2000
    assert (path > 0).all()
    assert symmetry.constraints(W, path[-1]).abs().max() < 1e-12

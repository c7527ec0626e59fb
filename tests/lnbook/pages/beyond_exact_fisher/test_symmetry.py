"""Layer norm's hidden symmetry: directions that no output feels, and finite moves along them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.pages.beyond_exact_fisher import drawings, symmetry
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


def test_a_hidden_direction_is_a_null_vector_of_the_fisher_matrix() -> None:
    draw = draws(2)
    W, g, X = draw(8, 2), (draw(8) / 3).exp(), draw(40, 2)
    glm = GLM("gaussian", W, draw(8), norm="layer", gain=g)
    F = FisherOperator(glm, X)
    for tau in symmetry.hidden_directions(W).mT:
        v = glm.pack(tau[:, None] * (W - W.mean(0)), torch.zeros_like(g), -tau * g)
        # 1e-13: rounding of a few hundred additions, relative to the matrix.
        assert (F @ v).norm() <= 1e-13 * F.trace() * v.norm()


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


def test_another_slide_of_the_same_size_does_change_the_outputs() -> None:
    draw = draws(3)
    W, g, X = draw(7, 2), torch.ones(7, dtype=torch.float64), draw(100, 2)
    t = symmetry.slide(W, draw(7), length=0.5)[-1]
    control = 1 + (t - 1).norm() * torch.nn.functional.normalize(draw(7), dim=0)
    before = layer_norm(X @ W.mT, eps=0.0)
    changes = []
    for factors in (t, control):
        W_t, g_t = slid(W, g, factors)
        changes.append(float((layer_norm(X @ W_t.mT, g_t, eps=0.0) - before).norm() / before.norm()))
    assert changes[0] < 1e-12
    assert changes[1] > 0.05


def test_a_slide_stops_before_a_gain_diverges() -> None:
    draw = draws(4)
    W = draw(7, 2)
    path = symmetry.slide(W, draw(7), length=100.0, step=0.05)
    assert len(path) < 2000
    assert (path > 0).all()
    assert symmetry.constraints(W, path[-1]).abs().max() < 1e-12


def test_constraints_notice_a_row_that_slides_alone() -> None:
    W, t = draws(5)(6, 2), torch.ones(6, dtype=torch.float64)
    assert symmetry.constraints(W, t).abs().max() < 1e-14
    t[0] = 1.1
    assert symmetry.constraints(W, t).abs().max() > 0.01


def test_a_narrow_layer_has_nothing_to_slide() -> None:
    with pytest.raises(ValueError, match=r"5 rows of 2 weights .* = 5"):
        symmetry.slide(draws(7)(5, 2), torch.ones(5, dtype=torch.float64), length=1.0)


def test_a_direction_without_a_hidden_part_is_refused() -> None:
    W = draws(8)(7, 2)
    along = (W - W.mean(0))[:, 0]  # what keeps the rows centered excludes it
    with pytest.raises(ValueError, match="no part along"):
        symmetry.slide(W, along, length=1.0)


def test_a_step_too_long_for_newton_says_so() -> None:
    with pytest.raises(ArithmeticError, match="smaller step"):
        symmetry.slide(draws(9)(7, 2), draws(10)(7), length=1e6, step=1e6)


def test_nullities_write_every_count_and_mark_where_the_hidden_symmetry_begins() -> None:
    units, inputs = range(2, 8), range(1, 3)
    grid = np.array([[2, 3, 4, 5, 6, 7], [4, 3, 3, 3, 4, 5]])
    fig = drawings.nullities(units, inputs, grid)
    ax = fig.axes[0]
    assert [int(text.get_text()) for text in ax.texts] == grid.flatten().tolist()
    hidden = np.asarray(ax.images[0].get_array())
    for row, line in enumerate(ax.lines):
        first = int(line.get_xdata()[0] + 0.5)
        assert hidden[row, :first].max() == 0
        assert hidden[row, first:].min() > 0


def test_the_ellipse_of_inertia_is_that_of_the_rows() -> None:
    rows = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    steps = np.linspace(0, 1, 3)
    path = 1 + steps[:, None] * np.array([0.1, 0.1, -0.1, -0.1])
    fig = drawings.sliding(rows, path, steps, steps * 1e-16, steps)
    left, right = fig.axes
    ellipse = left.patches[0]
    assert sorted([ellipse.get_width(), ellipse.get_height()]) == pytest.approx([2 * 0.5**0.5, 2 * 2**0.5])
    assert left.lines[-1].get_xydata().tolist() == [[0, 0]]
    assert len(right.lines) == 2

"""What a layer-normalized LSTM does not hear, and what its raw cell does."""

import pytest
import torch

from lnbook.pages.appendix_cells import cell_scales


@pytest.mark.parametrize("seed", range(3))
def test_separate_norms_hear_neither_loudness_nor_scales_nor_shifts(seed: int) -> None:
    # roundings of numbers near 1, in 50 steps
    assert cell_scales.change("paper", seed, matrices=True) < 1e-11
    assert cell_scales.change("joint", seed, matrices=False) > 0.1
    assert cell_scales.change("draw", seed, matrices=False) > 0.1


def test_an_open_forget_gate_lets_the_cell_grow_below_its_bound_and_layer_norm_hides_it() -> None:
    normed, plain = (cell_scales.unforgetting(norm, 0) for norm in ("layer", "none"))
    steps = torch.arange(1, 1001)
    for run in (normed, plain):
        assert (run.cells.abs().amax(1) <= steps).all()
        size = run.cells.std(1)
        assert size[-1] / size[99] == pytest.approx(10, rel=0.3)  # like t
    # a step's weight falls like 1/t: averaged over ten steps, since single steps are random
    late, early = normed.moved[-10:].mean(), normed.moved[95:105].mean()
    assert float(early / late) == pytest.approx(10, rel=0.5)
    assert (normed.shown[-1].abs() > 0.99).double().mean() < 0.1
    assert (plain.shown[-1].abs() > 0.99).double().mean() > 0.8

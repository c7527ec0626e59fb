"""Norm propagation's LSTM against its equations in plain loops, and what it keeps the same."""

import torch
from torch import Tensor

from lnbook.pages.sec6_4_draw.experiment import EXPERIMENT
from lnbook.pages.sec6_4_draw.model import GAIN, VARIANCES, Draw
from lnbook.pages.sec6_4_draw.propagation import PropagationCell, unit_rows, variances
from lnbook.training import Machine, train

H, D, N = 3, 2, 4


def cell(seed: int = 0) -> dict[str, Tensor]:
    g = torch.Generator().manual_seed(seed)
    shapes = {"weight_ih": (4 * H, D), "weight_hh": (4 * H, H), "bias": (4 * H,)}
    shapes |= {"gain_ih": (4 * H,), "gain_hh": (4 * H,), "gain_cell": (H,)}
    return {name: torch.randn(*shape, generator=g, dtype=torch.float64) for name, shape in shapes.items()}


def test_a_step_is_that_of_the_equations() -> None:
    p = cell()
    g = torch.Generator().manual_seed(1)
    x, h, c = (torch.randn(N, size, generator=g, dtype=torch.float64) for size in (D, H, H))
    lstm = PropagationCell(**p, var_c=0.2, var_h=0.05)
    new_h, new_c = lstm.step(lstm.inputs(x), (h, c))
    a = p["bias"]
    for side, values in (("ih", x), ("hh", h)):
        rows = p[f"weight_{side}"]
        a = a + p[f"gain_{side}"] * (values @ (rows / rows.square().sum(1, keepdim=True).sqrt()).T)
    i, f, g, o = a.chunk(4, 1)
    expected = i.sigmoid() * g.tanh() + f.sigmoid() * c
    torch.testing.assert_close(new_c, expected, rtol=1e-12, atol=0)  # a dozen roundings in float64
    shown = (p["gain_cell"] * expected / 0.2**0.5).tanh()
    torch.testing.assert_close(new_h, o.sigmoid() * shown / 0.05**0.5, rtol=1e-12, atol=0)


def test_gains_start_at_a_half_and_rows_have_length_one_after_every_update() -> None:
    model = Draw(6, units=5, codes=2, norm="propagation", generator=torch.Generator().manual_seed(0))
    gains = torch.cat([p.detach() for name, p in model.named_parameters() if "gain" in name])
    assert torch.equal(gains, torch.full_like(gains, GAIN))
    assert variances(GAIN, GAIN, GAIN) == VARIANCES
    job = EXPERIMENT.jobs("smoke", 0)[0]
    assert job["norm"] == "propagation"
    task = EXPERIMENT.task(job | {"updates": 3, "rows": 1}, "smoke", Machine())
    before = task.model.decoder.weight_hh.detach().clone()
    train(task)
    assert not torch.equal(before, task.model.decoder.weight_hh)
    for lstm in (task.model.encoder, task.model.decoder):
        for weight in (lstm.weight_ih, lstm.weight_hh):
            # float32: the length of up to 50 numbers
            torch.testing.assert_close(weight.norm(dim=1), torch.ones(len(weight)), rtol=1e-6, atol=1e-6)
            torch.testing.assert_close(unit_rows(weight), weight, rtol=1e-6, atol=1e-6)


def test_first_weights_but_for_their_length_are_those_of_the_other_norms() -> None:
    models = {
        norm: Draw(6, units=5, codes=2, norm=norm, generator=torch.Generator().manual_seed(0))
        for norm in ("none", "propagation")
    }
    plain, kept = (model.encoder.weight_ih for model in models.values())
    torch.testing.assert_close(unit_rows(plain), kept)
    strokes, smaller = (model.strokes.weight for model in models.values())
    torch.testing.assert_close(0.3 * strokes, smaller)

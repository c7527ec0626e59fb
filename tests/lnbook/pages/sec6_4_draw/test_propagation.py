"""Norm propagation's LSTM against its equations in plain loops, and what it keeps the same."""

import math

import numpy as np
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


def sigmoid(a: float) -> float:
    return 1 / (1 + math.exp(-a))


def literal(p: dict[str, Tensor], x: list[float], h: list[float], c: list[float]) -> tuple[list[float], ...]:
    """One case, one step of Laurent and others' Eqs. (13)-(15), variances 0.2 and 0.05."""
    a = []
    for k in range(4 * H):
        total = float(p["bias"][k])
        for side, values in (("ih", x), ("hh", h)):
            row = p[f"weight_{side}"][k].tolist()
            length = math.sqrt(sum(w * w for w in row))
            total += (
                float(p[f"gain_{side}"][k]) * sum(w * v for w, v in zip(row, values, strict=True)) / length
            )
        a.append(total)
    i, f, g, o = a[:H], a[H : 2 * H], a[2 * H : 3 * H], a[3 * H :]
    new_c = [sigmoid(i[k]) * math.tanh(g[k]) + sigmoid(f[k]) * c[k] for k in range(H)]
    shown = [math.tanh(float(p["gain_cell"][k]) * new_c[k] / math.sqrt(0.2)) for k in range(H)]
    return [sigmoid(o[k]) * shown[k] / math.sqrt(0.05) for k in range(H)], new_c


def test_a_step_is_that_of_the_equations() -> None:
    p = cell()
    g = torch.Generator().manual_seed(1)
    x, h, c = (torch.randn(N, size, generator=g, dtype=torch.float64) for size in (D, H, H))
    lstm = PropagationCell(**p, var_c=0.2, var_h=0.05)
    new_h, new_c = lstm.step(lstm.inputs(x), (h, c))
    for n in range(N):
        expected_h, expected_c = literal(p, x[n].tolist(), h[n].tolist(), c[n].tolist())
        np.testing.assert_allclose(new_h[n], expected_h, rtol=1e-12)  # a dozen roundings in float64
        np.testing.assert_allclose(new_c[n], expected_c, rtol=1e-12)


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

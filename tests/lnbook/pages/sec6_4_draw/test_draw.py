"""DRAW and norm propagation against their formulas in plain loops; that it learns, and what is measured."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from lnbook import curves
from lnbook.pages.sec6_4_draw.experiment import CHOOSING, EXPERIMENT, OWN, own_rates
from lnbook.pages.sec6_4_draw.model import GAIN, VARIANCES, Draw, OneBiasLSTM, filterbanks
from lnbook.training import Machine, train

T, N, A, Z, H = 3, 2, 6, 2, 5


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def tiny(norm: str = "layer", read: int = 2, write: int = 3) -> Draw:
    """A small model in float64, its parameters random: the biases and gains, too."""
    model = Draw(A, units=H, codes=Z, read=read, write=write, norm=norm, generator=seeded()).double()
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=seeded(1), dtype=p.dtype))
    return model


def pictures(cases: int = N) -> Tensor:
    return torch.randint(0, 2, (cases, A, A), generator=seeded(2)).double()


@pytest.mark.parametrize("position", [0.0, 40.0, -1e3])
@pytest.mark.parametrize("log_variance", [-8.0, 0.0, 20.0])
def test_every_row_sums_to_one_wherever_the_window_is(position: float, log_variance: float) -> None:
    windows = torch.tensor([[[position, -position, log_variance, 0.5, 0.0]]], requires_grad=True)
    (bank,) = filterbanks(windows, [4], 28)
    torch.testing.assert_close(bank.sum(-1), torch.ones(1, 4, 2), atol=1e-6, rtol=0)  # float32, 28 terms
    bank.square().sum().backward()
    assert windows.grad is not None
    assert torch.isfinite(windows.grad).all()


def test_a_new_model_tiles_the_picture() -> None:
    model = Draw(28, units=4, codes=1, norm="none", generator=seeded(), write=5)
    windows, _ = model._strokes(torch.zeros(1, 4))
    for P, bank in zip(model.points, filterbanks(windows, model.points, 28), strict=True):
        centers = (bank * torch.arange(28)).sum(-1)[0, :, 0]
        assert centers.flip(0).allclose(27 - centers, atol=1e-4)
        density = bank[0, :, 0].sum(0) * 28 / P
        # an edge pixel lacks the neighbor beyond; no other is left out or looked at twice
        assert 0.5 < density.min() < density.max() < 1.5
    painted = model.painted(torch.ones(1, 5, 5), filterbanks(windows, model.points, 28)[1], windows[:, 1])
    assert float(painted.detach().mean()) == pytest.approx(1, abs=1e-4)  # each row of a filter sums to one
    assert painted.std() < 0.3


def literally(model: Draw, x: Tensor, epsilon: Tensor) -> list[tuple[Tensor, ...]]:
    """The model's equations case by case; the page holds the filters and the LSTM to theirs."""
    read, write = model.points
    encoder, decoder = model.encoder, model.decoder
    canvas = torch.zeros(len(x), A, A, dtype=torch.float64)
    h_e, c_e, h_d, c_d = (torch.zeros(len(x), H, dtype=torch.float64) for _ in range(4))

    def filters(window: Tensor, points: int) -> tuple[Tensor, ...]:
        return filterbanks(window[None, None], [points], A)[0][0].unbind(1)

    steps = []
    for eps in epsilon:
        r, out = [], h_d @ model.strokes.weight.T + model.strokes.bias
        for n in range(len(x)):
            F_x, F_y = filters(out[n, :5], read)
            both = [F_y @ picture @ F_x.T for picture in (x[n], x[n] - canvas[n].sigmoid())]
            # rows of the picture outermost, then the two pictures: only an order of the encoder's inputs
            r.append(out[n, 4].exp() * torch.stack(both, 1).flatten())
        h_e, c_e = encoder.step(encoder.weights(), torch.cat([torch.stack(r), h_d], 1), h_e, c_e)
        mean, log_std = (h_e @ model.posterior.weight.T + model.posterior.bias).chunk(2, 1)
        z = mean + log_std.exp() * eps
        h_d, c_d = decoder.step(decoder.weights(), z, h_d, c_d)
        out = h_d @ model.strokes.weight.T + model.strokes.bias
        painted = []
        for n in range(len(x)):
            F_x, F_y = filters(out[n, 5:10], write)
            painted.append(F_y.T @ out[n, 10:].view(write, write) @ F_x / out[n, 9].exp())
        canvas = canvas + torch.stack(painted)
        steps.append((canvas, out[:, 5:10], z, mean, log_std))
    return steps


@pytest.mark.parametrize("norm", ["none", "layer"])
@pytest.mark.parametrize(("read", "write"), [(2, 3), (1, 1), (3, 2)])
def test_the_unrolled_model_is_the_printed_one(norm: str, read: int, write: int) -> None:
    model = tiny(norm, read=read, write=write)
    x, epsilon = pictures(), torch.randn(T, N, Z, generator=seeded(3), dtype=torch.float64)
    with torch.no_grad():
        ours = list(model.unroll(epsilon, x))
        theirs = literally(model, x, epsilon)
    for one, other in zip(ours, theirs, strict=True):
        for value, expected in zip(one, other, strict=True):
            # float64, three glimpses, each a few dozen sums
            torch.testing.assert_close(value, expected, atol=1e-9, rtol=1e-7)


def test_the_divergence_is_the_mean_of_what_draws_say() -> None:
    model, x, draws = tiny(), pictures(cases=1), 20_000
    epsilon = torch.randn(T, draws, Z, generator=seeded(9), dtype=torch.float64)
    with torch.no_grad():
        _, divergence, drawn = model(x.expand(draws, A, A), epsilon)
    difference = drawn - divergence
    assert abs(difference.mean()) < 4 * difference.std() / draws**0.5 < 0.05 * divergence.mean()


@pytest.mark.parametrize("norm", ["none", "layer", "propagation"])
def test_a_step_of_an_lstm_is_that_of_the_equations(norm: str) -> None:
    lstm, draw = OneBiasLSTM(Z, H, norm).double().requires_grad_(False), seeded()
    for p in lstm.parameters():
        p.normal_(generator=draw)
    x, h, c = (torch.randn(N, size, generator=draw, dtype=torch.float64) for size in (Z, H, H))
    new_h, new_c = lstm.step(lstm.weights(), x, h, c)
    a, (var_c, var_h) = lstm.bias_ih, VARIANCES if norm == "propagation" else (1.0, 1.0)
    for side, values in (("ih", x), ("hh", h)):
        rows = lstm.get_parameter(f"weight_{side}")
        if norm == "propagation":
            length = rows.square().sum(1, keepdim=True).sqrt()
            rows = lstm.get_parameter(f"gain_{side}")[:, None] * rows / length
        a = a + values @ rows.T
    i, f, g, o = a.chunk(4, 1)
    expected = shown = i.sigmoid() * g.tanh() + f.sigmoid() * c
    torch.testing.assert_close(new_c, expected, rtol=1e-12, atol=0)  # a dozen roundings in float64
    if norm == "layer":
        var, mean = torch.var_mean(shown, 1, correction=0, keepdim=True)
        shown = lstm.gain_cell * (shown - mean) / (var + 1e-5).sqrt() + lstm.bias_cell
    elif norm == "propagation":
        shown = lstm.gain_cell * shown / var_c**0.5
    torch.testing.assert_close(new_h, o.sigmoid() * shown.tanh() / var_h**0.5, rtol=1e-12, atol=0)


def test_norm_propagation_begins_as_the_other_norms_and_keeps_rows_of_length_one() -> None:
    job = EXPERIMENT.jobs("smoke", 0)[0]
    assert job["norm"] == "propagation"
    task, other = (
        EXPERIMENT.task(job | {"updates": 3, "rows": 1, "norm": norm}, "smoke", Machine())
        for norm in ("propagation", "none")
    )
    kept, plain = task.model, other.model
    torch.testing.assert_close(F.normalize(plain.encoder.weight_ih), kept.encoder.weight_ih)
    torch.testing.assert_close(0.3 * plain.strokes.weight, kept.strokes.weight)
    for name in ("gain_ih", "gain_hh", "gain_cell"):
        assert kept.encoder.get_parameter(name).eq(GAIN).all()
    before = kept.decoder.weight_hh.detach().clone()
    train(task)
    assert not torch.equal(before, kept.decoder.weight_hh)
    for lstm in (kept.encoder, kept.decoder):
        for weight in (lstm.weight_ih, lstm.weight_hh):
            # float32: the length of up to 50 numbers
            torch.testing.assert_close(weight.norm(dim=1), torch.ones(len(weight)), rtol=1e-6, atol=1e-6)


def test_the_smoke_run_learns_digits() -> None:
    job = next(job for job in EXPERIMENT.jobs("smoke", 0) if job["norm"] == "none")
    found = train(EXPERIMENT.task(job, "smoke", Machine())).rows
    first, last = found[0], found[-1]
    # 64 log 2 = 44.4 nats is a coin a pixel; each pixel at its own frequency is 26.0
    assert last["test_bound"] < 27.5 < 43 < first["test_bound"]
    assert (last["valid_cases"], last["test_cases"]) == (119, 360)
    assert found[1]["test_cases"] == 120


def test_the_five_pairs_run_at_the_step_sizes_that_the_further_seed_chose() -> None:
    rows = curves.runs(curves.recorded("draw_early", scale="paper")[0])
    assert own_rates(rows[rows["seed"] == CHOOSING]) == OWN
    pairs = rows[rows["seed"] != CHOOSING].groupby("norm")
    assert pairs["rate"].unique().map(list).to_dict() == {norm: [rate] for norm, rate in OWN.items()}
    assert (pairs["seed"].nunique() == 5).all()

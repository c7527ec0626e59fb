"""Networks trained side by side are the same networks trained one by one."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from lnbook import data
from lnbook.pages.beyond_covariate_shift import twins
from lnbook.pages.beyond_covariate_shift.twins import NORMS, Twins
from lnlib import batch_norm

SEEDS = (3, 4)


@pytest.fixture(scope="module")
def arrays() -> twins.Arrays:
    return twins.pictures(data.load("digits"), 400)


@pytest.mark.parametrize("norm", NORMS)
def test_a_start_does_not_depend_on_the_starts_beside_it(norm) -> None:
    x = torch.randn(2, 9, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    both = Twins([5, 6, 4, 3], norm, SEEDS, dtype=torch.float64)
    alone = Twins([5, 6, 4, 3], norm, SEEDS[1:], dtype=torch.float64)
    torch.testing.assert_close(both(x)[1:], alone(x[1:]), rtol=1e-12, atol=1e-12)


def test_the_gradient_of_the_summed_loss_is_each_starts_own() -> None:
    x = torch.randn(2, 9, 5, generator=torch.Generator().manual_seed(0))
    y = torch.randint(3, (2, 9), generator=torch.Generator().manual_seed(1))
    both, alone = Twins([5, 6, 3], "layer", SEEDS), Twins([5, 6, 3], "layer", SEEDS[:1])
    (together,) = torch.autograd.grad(twins.loss(both(x), y), both.weights[0])
    (own,) = torch.autograd.grad(cross_entropy(alone(x[:1])[0], y[0]), alone.weights[0])
    torch.testing.assert_close(together[:1], own, rtol=1e-4, atol=1e-6)


def test_all_norms_begin_with_the_same_weights() -> None:
    first = Twins([5, 6, 3], "none", SEEDS).weights
    for norm in NORMS:
        assert all(map(torch.equal, first, Twins([5, 6, 3], norm, SEEDS).weights))


def test_a_layer_does_what_its_name_says() -> None:
    x = torch.randn(1, 9, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    made = {norm: Twins([5, 6, 3], norm, SEEDS[:1], dtype=torch.float64) for norm in NORMS}
    a = x @ made["none"].weights[0].mT
    received: list[torch.Tensor] = []
    outputs = {norm: model(x, received) for norm, model in made.items()}
    by_name = dict(zip(NORMS, received, strict=True))
    torch.testing.assert_close(by_name["none"], a)
    torch.testing.assert_close(by_name["batch"][0], batch_norm(a[0]))
    for norm in ("simple", "mean detached", "std detached", "both detached"):
        torch.testing.assert_close(outputs[norm], outputs["layer"], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("norm", "gains", "biases"),
    [("none", 0, 2), ("batch", 1, 2), ("layer", 1, 2), ("simple", 0, 1), ("both detached", 0, 1)],
)
def test_only_some_learn_a_gain_and_a_bias(norm, gains, biases) -> None:
    model = Twins([5, 6, 3], norm, SEEDS)
    assert sum(bool(len(g)) for g in model.gains) == gains
    assert sum(bool(len(b)) for b in model.biases) == biases


def test_an_unknown_norm_is_refused() -> None:
    with pytest.raises(ValueError, match="the norms are none, batch, layer"):
        Twins([5, 6, 3], "weight", SEEDS)


def test_the_scale_is_of_the_hidden_weights_only() -> None:
    one, ten = (Twins([5, 6, 3], "none", SEEDS, scale=scale).weights for scale in (1.0, 10.0))
    torch.testing.assert_close(ten[0], 10 * one[0])
    assert torch.equal(ten[1], one[1])


def test_each_start_sees_the_batches_of_its_seed() -> None:
    x, y = torch.arange(20.0)[:, None], torch.arange(20)
    both, alone = twins.batches_of(x, y, 4, SEEDS), twins.batches_of(x, y, 4, SEEDS[1:])
    for _ in range(7):  # past an epoch of five
        (x2, y2), (x1, y1) = next(both), next(alone)
        assert torch.equal(x2[1:], x1)
        assert torch.equal(y2[1:], y1)
        assert not torch.equal(x2[0], x2[1])


def test_a_run_learns_and_reports_each_start(arrays) -> None:
    job = {"norm": "both detached", "hidden": (16, 16), "rate": 1e-2, "seeds": SEEDS, "batch": 32}
    row = twins.train_run(arrays, updates=40, rows=4, **job)
    assert list(row["update"]) == [0, 10, 20, 30, 40]
    for name in ("loss", "error"):
        assert row[name].shape == (2, 5)
    assert (row["loss"][:, -1] < 0.7 * row["loss"][:, 0]).all()
    assert (row["error"][:, -1] < 40).all()
    again = twins.train_run(arrays, updates=40, rows=4, **(job | {"seeds": SEEDS[1:]}))
    np.testing.assert_allclose(again["loss"][0, -1], row["loss"][1, -1], rtol=1e-3)  # float32, 40 updates


def test_a_run_that_diverges_is_infinitely_bad(arrays) -> None:
    x, *rest = arrays
    row = twins.train_run(
        (x * np.float32(np.nan), *rest), norm="none", hidden=(4,), rate=1e-3, seeds=SEEDS, updates=2
    )
    assert np.isinf(row["loss"]).all()


def test_pictures_are_bounded_and_evenly_spread() -> None:
    images = data.load("digits")
    x, y, test_x, test_y = twins.pictures(images, 100)
    assert x.shape == (100, 64)
    assert len(y) == 100
    assert len(test_x) == len(test_y) <= 1000
    assert x.dtype == np.float32
    assert 0 <= x.min() <= x.max() <= 1

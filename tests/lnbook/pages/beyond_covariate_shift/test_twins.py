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
X = torch.randn(2, 9, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("norm", NORMS)
def test_a_start_does_not_depend_on_the_starts_beside_it(norm) -> None:
    both, alone = (Twins([5, 6, 4, 3], norm, seeds, dtype=torch.float64) for seeds in (SEEDS, SEEDS[1:]))
    torch.testing.assert_close(both(X)[1:], alone(X[1:]), rtol=1e-12, atol=1e-12)
    y = torch.randint(3, (2, 9), generator=torch.Generator().manual_seed(1))
    (together,) = torch.autograd.grad(twins.loss(both(X), y), both.weights[0])
    (own,) = torch.autograd.grad(cross_entropy(alone(X[1:])[0], y[1]), alone.weights[0])
    torch.testing.assert_close(together[1:], own, rtol=1e-12, atol=1e-12)


def test_a_layer_does_what_its_name_says() -> None:
    made = {norm: Twins([5, 6, 3], norm, SEEDS, dtype=torch.float64) for norm in NORMS}
    a, last = (W.mT for W in made["none"].weights)  # all norms begin with the same weights
    a = X @ a
    outputs = {norm: model(X) for norm, model in made.items()}
    torch.testing.assert_close(outputs["none"], a.relu() @ last)
    torch.testing.assert_close(outputs["batch"][0], batch_norm(a[0]).relu() @ last[0])
    for norm in ("simple", "mean detached", "std detached", "both detached"):
        torch.testing.assert_close(outputs[norm], outputs["layer"], rtol=1e-10, atol=1e-10)


def test_a_run_learns_and_is_infinitely_bad_where_it_diverges() -> None:
    x, *rest = twins.pictures(data.load("digits"), 400)
    job = {"place": (2, 1.0), "norm": "both detached", "rate": 1e-2}
    job |= {"units": 16, "seeds": SEEDS, "updates": 40}
    row, lost = (twins.train_run((a, *rest), **job) for a in (x, x * np.float32(np.nan)))
    assert (row["loss"] < 1.6).all()  # guessing has 2.3
    assert (row["error"] < 40).all()
    assert np.isinf(lost["loss"]).all()

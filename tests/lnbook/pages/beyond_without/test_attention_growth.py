"""The attention layer that looks up values: many models at once are as in plain torch."""

import pytest
import torch
from torch.nn.functional import layer_norm

from lnbook.pages.beyond_without.expressing import CASES, PAIRS, WIDTH, largest_logits


def one_model(rate: float, seed: int, updates: int, norm: bool) -> float:
    """Largest logit at the last update, by torch's own layer norm and optimizer."""
    g = torch.Generator().manual_seed(seed)
    Wq, Wk = (torch.nn.Parameter(torch.randn(WIDTH, WIDTH, generator=g) / 4) for _ in range(2))
    gains = [torch.nn.Parameter(torch.ones(WIDTH)) for _ in range(2)]
    optimizer = torch.optim.SGD([Wq, Wk, *gains], rate)
    for _ in range(updates):
        x = torch.randn(CASES, PAIRS, WIDTH, generator=g)
        values = torch.randn(CASES, PAIRS, generator=g).sign()
        q, k = x[:, 0] @ Wq.T, x @ Wk.T
        if norm:
            q, k = (layer_norm(a, [WIDTH], gain, eps=0.0) for a, gain in zip((q, k), gains, strict=True))
        logits = (k @ q[:, :, None])[..., 0] / 4
        loss = ((logits.softmax(1) * values).sum(1) - values[:, 0]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(logits.detach().abs().max())


@pytest.mark.parametrize("norm", [False, True])
def test_many_models_at_once_are_each_what_plain_torch_computes(norm: bool) -> None:
    together = largest_logits([0.1, 1.0], [4, 5], 4, norm=norm)
    for k, rate in enumerate((0.1, 1.0)):
        for s, seed in enumerate((4, 5)):
            # float32, sums in another order
            assert together[k, s] == pytest.approx(one_model(rate, seed, 4, norm), rel=1e-4)

"""Section 1's two kinds of batch statistics, on generated cases."""

import pytest
import torch

from lnbook.pages.sec1_introduction import within_a_batch as noise
from lnlib import batch_norm


@pytest.fixture
def cases() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.rand(80, 12, generator=torch.Generator().manual_seed(0))
    return x, (x[:, 0] * 10).long().clamp(max=9)


def weights(network) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for layer in network.layers for p in layer])


def test_the_two_kinds_begin_alike_and_differ_after_an_update(cases):
    (begun, learned), (same, other) = (
        [weights(noise.train(cases, 3, exact=exact, updates=n, units=8)) for n in (0, 1)]
        for exact in (True, False)
    )
    assert torch.equal(begun, same)
    assert not torch.allclose(learned, other)


def test_the_training_cases_themselves_are_normalized_by_their_own_statistics(cases):
    network = noise.train(cases, 1, exact=True, updates=3, units=8)
    torch.testing.assert_close(noise.answers(network, cases[0], cases[0]), network(cases[0])[0])


def test_a_test_case_does_not_depend_on_its_company(cases):
    network = noise.train(cases, 1, exact=False, updates=3, units=8)
    alone, together = (noise.answers(network, cases[0], cases[0][:n]) for n in (1, 40))
    # float32: a product of one row adds its terms in another order than one of 40
    torch.testing.assert_close(alone[0], together[0], rtol=1e-5, atol=1e-5)
    assert not torch.allclose(batch_norm(cases[0][:40])[0], batch_norm(cases[0][:20])[0])

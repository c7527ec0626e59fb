"""Section 1's two kinds of batch statistics, on generated cases."""

import pytest
import torch

from lnbook.pages.sec1_introduction import within_a_batch as noise


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


def test_whatever_its_company_a_case_is_normalized_by_the_statistics_of_all_training_cases(cases):
    network = noise.train(cases, 1, exact=False, updates=3, units=8)
    by_batch = network(cases[0])[0]
    for company in (1, 40, 80):
        answers = noise.answers(network, cases[0], cases[0][:company])
        # float32: a product of one row adds its terms in another order than one of 40
        torch.testing.assert_close(answers, by_batch[:company], rtol=1e-5, atol=1e-5)

"""Seeds and the order of the data: independent, repeatable, parted evenly."""

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lnbook.training import LengthBatches, Minibatches, generators, noise_of


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_weights_order_and_noise_of_a_seed_have_nothing_in_common() -> None:
    draws = [torch.randn(2000, generator=g) for g in (*generators(3), noise_of(3, 0), noise_of(3, 1))]
    correlations = torch.corrcoef(torch.stack(draws)).fill_diagonal_(0)
    assert float(correlations.abs().max()) < 0.11  # 5 standard errors of the correlation of 2000 pairs


def test_asking_for_more_generators_does_not_change_the_first() -> None:
    seeds = [g.initial_seed() for g in generators(5, 4)]
    assert [g.initial_seed() for g in generators(5)] == seeds[:2]


def test_no_two_updates_or_processes_share_their_noise() -> None:
    seeds = [noise_of(1, update, rank).initial_seed() for update in range(-1, 300) for rank in range(4)]
    lowest = {seed % 2**32 for seed in seeds}  # all that torch takes of a CPU generator's seed
    assert len(lowest) == len(seeds)
    assert noise_of(1, 9).initial_seed() != noise_of(2, 9).initial_seed()


@given(cases=st.integers(1, 40), data=st.data())
def test_an_epoch_visits_no_case_twice_and_omits_only_what_does_not_fill_a_batch(
    cases: int, data: Any
) -> None:
    size = data.draw(st.integers(1, cases))
    batches = Minibatches((torch.arange(cases) * 10, torch.arange(cases)), size, seeded())
    for _ in range(3):
        epoch = list(itertools.islice(batches, cases // size))
        seen = torch.cat([y for _, y in epoch])
        assert all(len(x) == size for x, _ in epoch)
        assert len(set(seen.tolist())) == cases // size * size
        assert all(torch.equal(x, 10 * y) for x, y in epoch)


@given(world=st.integers(1, 4), share=st.integers(1, 5), more=st.integers(0, 30))
def test_processes_part_each_batch_of_one_process_among_them(world: int, share: int, more: int) -> None:
    cases, size = torch.arange(world * share + more), world * share
    whole = Minibatches((cases,), size, seeded())
    parts = [Minibatches((cases,), size, seeded(), rank=rank, world=world) for rank in range(world)]
    for _ in range(5):
        shares = [next(part)[0] for part in parts]
        assert {len(x) for x in shares} == {share}
        assert sorted(torch.cat(shares).tolist()) == sorted(next(whole)[0].tolist())


@pytest.mark.parametrize("kind", [Minibatches, LengthBatches])
@given(before=st.integers(0, 25), after=st.integers(1, 25))
def test_batches_go_on_from_where_they_stood(kind: type[Minibatches], before: int, after: int) -> None:
    def made(seed: int) -> Minibatches:
        cases, options = torch.arange(17 * 4).reshape(17, 4), {}
        if kind is LengthBatches:
            options = {"lengths": torch.arange(17) % 4 + 1, "cut": [0]}
        return kind((cases,), batch_size=3, generator=seeded(seed), **options)

    batches, again = made(0), made(99)
    for _ in range(before):
        next(batches)
    again.load_state_dict(batches.state_dict())
    for _ in range(after):
        assert torch.equal(next(batches)[0], next(again)[0])


def test_a_batch_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="1 to 5 cases, not 6"):
        Minibatches((torch.zeros(5),), 6, seeded())
    with pytest.raises(ValueError, match="4 cases does not part evenly among 3 processes"):
        Minibatches((torch.zeros(5),), 4, seeded(), world=3)

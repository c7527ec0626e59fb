"""Seeds, and batches: independent, repeatable, parted evenly; little padding, nothing cut off."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lnbook.training import Group, LengthBatches, Minibatches, generators, noise_of


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_weights_order_and_noise_of_a_seed_have_nothing_in_common():
    draws = [torch.randn(2000, generator=g) for g in (*generators(3), noise_of(3, 0), noise_of(3, 1))]
    correlations = torch.corrcoef(torch.stack(draws)).fill_diagonal_(0)
    assert float(correlations.abs().max()) < 0.11  # 5 standard errors of the correlation of 2000 pairs
    seeds = [g.initial_seed() for g in generators(5, 4)]
    assert [g.initial_seed() for g in generators(5)] == seeds[:2]


def test_no_two_updates_or_processes_share_their_noise():
    seeds = [noise_of(1, update, rank).initial_seed() for update in range(-1, 300) for rank in range(4)]
    lowest = {seed % 2**32 for seed in seeds}  # all that torch takes of a CPU generator's seed
    assert len(lowest) == len(seeds)
    assert noise_of(1, 9).initial_seed() != noise_of(2, 9).initial_seed()


@pytest.mark.parametrize("kind", [Minibatches, LengthBatches])
@given(before=st.integers(0, 25), after=st.integers(1, 25))
def test_batches_go_on_from_where_they_stood(kind: type[Minibatches], before, after):
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


def test_a_batch_that_cannot_be_is_refused():
    with pytest.raises(ValueError, match="1 to 5 cases, not 6"):
        Minibatches((torch.zeros(5),), 6, seeded())
    with pytest.raises(ValueError, match="4 cases does not part evenly among 3 processes"):
        Minibatches((torch.zeros(5),), 4, seeded(), Group(0, 3))


def sentences(count: int, longest: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Case n is n + 1, repeated as often as its length says, then zeros."""
    lengths = torch.randint(1, longest + 1, (count,), generator=seeded(seed))
    inside = torch.arange(longest) < lengths[:, None]
    return inside * torch.arange(1, count + 1)[:, None], lengths


@given(count=st.integers(1, 60), longest=st.integers(1, 20), pool=st.integers(1, 5), data=st.data())
def test_an_epoch_visits_every_case_whole_and_cuts_to_the_longest_of_each_batch(count, longest, pool, data):
    size = data.draw(st.integers(1, count))
    words, lengths = sentences(count, longest)
    batches = LengthBatches((words, lengths), lengths, size, seeded(), cut=[0], pool=pool)
    for _ in range(2):
        epoch = list(itertools.islice(batches, count // size))
        for rows, long in epoch:
            assert rows.shape == (size, int(long.max()))
            assert torch.equal((rows > 0).sum(1), long)  # nothing of a sequence is cut off
        cases = [int(row[0]) for rows, _ in epoch for row in rows]
        assert len(set(cases)) == count // size * size

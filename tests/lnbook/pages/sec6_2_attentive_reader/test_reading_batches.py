"""Batches of passages and questions: little padding, every case once."""

import torch

from lnbook.pages.sec6_2_attentive_reader.batches import PairBatches
from lnbook.training import LengthBatches

N, SIZE = 1000, 32


def made(kind: type[LengthBatches], **share: int) -> LengthBatches:
    draw = torch.Generator().manual_seed(0)
    lengths = torch.stack(
        [torch.randint(20, 65, (N,), generator=draw), torch.randint(5, 21, (N,), generator=draw)], 1
    )
    cases = tuple((torch.arange(64) < lengths[:, k, None]).long() for k in range(2))
    numbers = torch.arange(N)
    return kind((*cases, numbers), lengths, SIZE, torch.Generator().manual_seed(1), cut=(0, 1), **share)


def test_an_epoch_has_each_case_at_most_once_and_little_padding_less_than_sorting_by_the_sum() -> None:
    pairs = made(PairBatches)
    assert pairs.padding() < 0.1
    assert made(LengthBatches).padding() > 1.5 * pairs.padding()
    steps, real, seen = 0, 0, []
    for _ in range(len(pairs._batches)):
        passages, queries, numbers = next(pairs)
        seen.append(numbers)
        assert passages.any(0).all()  # cut to the longest
        assert queries.any(0).all()
        steps += passages.numel() + queries.numel()
        real += int(passages.sum() + queries.sum())
    assert abs(1 - real / steps - pairs.padding()) < 1e-9
    assert all(len(batch) == SIZE for batch in seen)
    cases = torch.cat(seen)
    assert len(cases.unique()) == len(cases) > N - 6 * SIZE
    assert not torch.equal(next(pairs)[2], seen[0])  # the next epoch has another order

"""Ranks and recalls by hand; the page holds them against lists that are sorted."""

import pytest
import torch

from lnbook.pages.sec6_1_order_embeddings.ranking import mean_over_splits, ranks, retrieval


def test_nan_ranks_last() -> None:
    table = torch.tensor([[torch.nan, 0.2], [0.3, torch.nan]])
    of_caption, of_image = ranks(table, torch.tensor([0, 1]))
    assert of_caption.tolist() == of_image.tolist() == [2, 2]


def test_splits_rank_against_their_own_pictures_and_are_averaged() -> None:
    draw = torch.Generator().manual_seed(1)
    owner, table = torch.arange(12).repeat_interleave(5), torch.rand(60, 12, generator=draw)
    parts = [retrieval(table[20 * k : 20 * k + 20, 4 * k : 4 * k + 4], owner[:20]) for k in range(3)]
    found = mean_over_splits(lambda rows, columns: table[rows, columns], owner, 12, split=4)
    for name, value in found.items():
        assert value == pytest.approx(sum(part[name] for part in parts) / 3)
    whole = mean_over_splits(lambda rows, columns: table[rows, columns], owner, 12)
    assert whole == pytest.approx(retrieval(table, owner))
    assert whole["image_mean"] > found["image_mean"]  # fewer rivals, better ranks

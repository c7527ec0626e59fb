"""Ranks and recalls by hand; the page holds them against lists that are sorted."""

import pytest
import torch

from lnbook.pages.sec6_1_order_embeddings.ranking import mean_over_splits, ranks, retrieval


def test_three_pictures_with_two_captions_by_hand() -> None:
    table = torch.tensor(
        [
            [0.1, 0.5, 0.6],  # picture 0's: its own is best
            [0.9, 0.2, 0.3],  # ... its own is worst
            [0.4, 0.3, 0.2],  # picture 1's: second
            [0.0, 0.7, 0.8],  # ... second
            [0.5, 0.6, 0.4],  # picture 2's: first
            [0.6, 0.1, 0.9],  # ... third
        ]
    )
    owner = torch.tensor([0, 0, 1, 1, 2, 2])
    of_caption, of_image = ranks(table, owner)
    assert of_image.tolist() == [1, 3, 2, 2, 1, 3]
    # before picture 0's best, 0.1, stands 0.0; before 1's, 0.3, stand 0.1, 0.2; before 2's, 0.4, 0.2 and 0.3
    assert of_caption.tolist() == [2, 3, 3]
    found = retrieval(table, owner)
    assert found["image_r1"] == pytest.approx(100 * 2 / 6)
    assert (found["caption_r1"], found["caption_r5"], found["image_r5"]) == (0.0, 100.0, 100.0)
    assert found["image_mean"] == pytest.approx(12 / 6)
    assert found["caption_mean"] == pytest.approx(8 / 3)
    assert (found["image_median"], found["caption_median"]) == (2.0, 3.0)


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

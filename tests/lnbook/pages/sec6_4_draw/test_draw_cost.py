"""The cost of an update and of its parts."""

import torch

from lnbook.pages.sec6_4_draw.cost import seconds
from lnbook.pages.sec6_4_draw.experiment import STUDIES


def test_every_part_takes_time_and_no_part_more_than_ten_updates() -> None:
    found = seconds(STUDIES["smoke"][0], 8, 2, torch.Generator().manual_seed(0))
    assert set(found) == {"none", "layer", "propagation", "products", "attention"}
    assert min(found.values()) > 0
    assert max(found["products"], found["attention"]) < 10 * found["none"]

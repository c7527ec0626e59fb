"""What a product with the exact Fisher matrix costs, as measured on small models."""

import torch

from lnbook.pages.beyond_exact_fisher import measure


def test_costs_measure_the_matrix_up_to_a_size_and_a_product_beyond() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = measure.costs((3, 5), dense_up_to=3, cases=10, generator=generator)
    assert [(row["way"], row["P"]) for row in rows] == [("product", 15), ("matrix", 15), ("product", 35)]
    assert all(row["seconds"] > 0 for row in rows)
    assert rows[1]["bytes"] == 8 * 15**2

"""What the Transformer chapter measures, put together."""

import numpy as np
import pytest

from lnbook.pages.beyond_transformers import placements
from lnbook.pages.beyond_transformers import residual_gradients as residual
from lnbook.shared import characters as transformer


@pytest.fixture(scope="module")
def found():
    return placements.stacks("smoke", (0, 1))


def test_stacks_hold_what_the_measurements_say(found):
    last = residual.gradient_by_depth("pre", found.depths, found.width, (0, 1))
    np.testing.assert_array_equal(found.last["pre"], last)
    np.testing.assert_array_equal(
        found.moved["post"][:, 1],
        residual.output_change("post", found.depths[1], found.width, (0, 1)),
    )
    assert found.blocks["post"].shape == (2, found.block_depth)


def test_every_curve_has_a_limit_of_its_length(found):
    for name, limits in found.limits().items():
        curves = getattr(found, name)
        assert limits.keys() == curves.keys()
        for placement, values in curves.items():
            assert len(limits[placement]) == values.shape[1]
    # the last block's limit is the same in both ways of asking
    L, limits = found.block_depth, found.limits()
    assert limits["blocks"]["pre"][-1] == residual.wide_limit("pre", L, L, found.width)


def test_readers_last_blocks_are_the_last_columns():
    text = transformer.read("smoke")
    read = placements.reading(text, (1, 2), 2, (0,))
    every = transformer.block_gradients(text, "post", 2, (0,))
    np.testing.assert_array_equal(read.blocks["post"], every)
    assert read.last["post"][0, 1] == every[0, -1]
    np.testing.assert_array_equal(
        read.alone["post"], transformer.block_gradients(text, "post", 2, (0,), length=1)
    )


def test_every_job_is_a_run_that_can_be_made():
    jobs = [job for panel in placements.JOBS.values() for job in panel.values()]
    assert len(set(jobs)) == len(jobs) == 5
    assert {placement for placement, *_ in jobs} == {"post", "pre"}

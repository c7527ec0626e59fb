"""The cases that are kept hold every pair of values, and are few."""

from itertools import combinations, product

from hypothesis import given
from hypothesis import strategies as st
from pairwise import pairwise


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=4), holes=st.integers(0, 3))
def test_every_pair_that_a_grid_holds_is_kept_also_where_the_grid_has_holes(
    sizes: list[int], holes: int
) -> None:
    grid = [dict(enumerate(values)) for values in product(*map(range, sizes))]
    cases = [{str(axis): value for axis, value in case.items()} for case in grid]
    cases = [case for number, case in enumerate(cases) if number % 4 >= holes] or cases
    kept = [cases[i] for i in pairwise(cases)]
    for width in (1, 2):
        for axes in combinations(map(str, range(len(sizes))), width):
            assert {tuple(case[a] for a in axes) for case in kept} == {
                tuple(case[a] for a in axes) for case in cases
            }


def test_of_a_grid_of_four_axes_a_fifth_is_kept_and_always_the_same() -> None:
    cases = [dict(zip("abcd", values, strict=True)) for values in product(range(3), repeat=4)]
    assert len(pairwise(cases)) <= 81 / 5  # nine is the least
    assert pairwise(cases) == pairwise([dict(reversed(case.items())) for case in cases])


def test_one_axis_is_kept_whole_and_nothing_of_nothing() -> None:
    assert pairwise([{"a": value} for value in "xyz"]) == [0, 1, 2]
    assert pairwise([]) == []

"""Of a grid of cases, few that try every two values of two axes together: most errors need no third."""

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations_with_replacement


def pairwise(cases: Sequence[Mapping[str, Hashable]]) -> list[int]:
    """Which of the cases hold together every pair of values that any case holds, chosen greedily.

    >>> pairwise([{"a": a, "b": b, "c": c} for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    [0, 1, 2, 4, 7]
    """
    pairs = [set(combinations_with_replacement(sorted(case.items(), key=_axis), 2)) for case in cases]
    left, chosen = set().union(*pairs), []
    while left:
        best = max(range(len(cases)), key=lambda i: len(pairs[i] & left))  # the first, if several are
        chosen.append(best)
        left -= pairs[best]
    return sorted(chosen)


def _axis(item: tuple[str, Hashable]) -> str:
    return item[0]

"""New numbers for entities: the question stays the same, and the numbers say nothing."""

import random
from collections import Counter

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lnbook.data.anonymize import permute, renumber
from lnbook.data.questions import PLACEHOLDER, Question, marker

FIRST, MARKERS = 4, 6

tokens = st.lists(
    st.one_of(st.sampled_from(["the", "ring", "."]), st.integers(0, 40).map(marker)), min_size=1, max_size=20
)


def pattern(sequence: tuple[str, ...]) -> list[int]:
    """Which tokens are equal to which: all that is left of a sequence whose names are gone."""
    return [sequence.index(token) for token in sequence]


@given(tokens, tokens, st.integers(0, 2**32))
def test_a_renumbered_question_has_the_same_words_and_the_same_entities_meet(
    passage: list[str], query: list[str], seed: int
) -> None:
    old = Question(tuple(passage), (PLACEHOLDER, *query), marker(3), {marker(3): "Ann"})
    new = renumber(old, random.Random(seed), 42)
    whole = [(*q.passage, *q.query, q.answer) for q in (old, new)]
    assert pattern(whole[0]) == pattern(whole[1])
    words = [[token for token in some if not token.startswith("@entity")] for some in whole]
    assert words[0] == words[1]
    assert new.names == {new.answer: "Ann"}


def test_every_number_is_equally_likely() -> None:
    q = Question((marker(7), "met", marker(9)), (PLACEHOLDER,), marker(7))
    draw = random.Random(0)
    counts = Counter(renumber(q, draw, 5).answer for _ in range(5000))
    # 5 standard deviations of a count with probability 1/5: sqrt(5000 / 5 * 4/5) = 28
    assert all(abs(counts[marker(k)] - 1000) < 142 for k in range(5))


@given(st.integers(0, 2**31), st.integers(1, 5), st.integers(1, 9))
def test_a_permutation_keeps_words_and_padding_and_answers_where_they_were(seed: int, N: int, T: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    passages, queries = (torch.randint(0, FIRST + MARKERS + 3, (N, T), generator=draw) for _ in range(2))
    answers = torch.randint(0, MARKERS, (N,), generator=draw)
    new_p, new_q, new_a = permute(
        passages,
        queries,
        answers,
        first=FIRST,
        markers=MARKERS,
        generator=torch.Generator().manual_seed(seed),
    )
    old, new = torch.cat([passages, queries], 1), torch.cat([new_p, new_q], 1)
    is_marker = (old >= FIRST) & (old < FIRST + MARKERS)
    assert torch.equal(is_marker, (new >= FIRST) & (new < FIRST + MARKERS))
    assert torch.equal(old[~is_marker], new[~is_marker])
    assert torch.equal(old == answers[:, None] + FIRST, new == new_a[:, None] + FIRST)
    for row, other in zip(old, new, strict=True):  # equal before, equal after: no two entities are merged
        assert torch.equal(row[:, None] == row, other[:, None] == other)


def test_after_the_permutation_the_number_of_the_answer_says_nothing() -> None:
    N = 6000
    same = torch.full((N, 1), FIRST + 2)
    _, _, answers = permute(
        same,
        same,
        torch.full((N,), 2),
        first=FIRST,
        markers=MARKERS,
        generator=torch.Generator().manual_seed(0),
    )
    counts: Tensor = answers.bincount(minlength=MARKERS)
    assert (counts - N / MARKERS).abs().max() < 5 * (N / MARKERS * (1 - 1 / MARKERS)) ** 0.5


def test_each_case_is_permuted_by_itself() -> None:
    ids = torch.arange(FIRST, FIRST + MARKERS).repeat(50, 1)
    draw = torch.Generator().manual_seed(3)
    none = torch.zeros(50, dtype=torch.long)
    passages, _, _ = permute(ids, ids, none, first=FIRST, markers=MARKERS, generator=draw)
    assert len(passages.unique(dim=0)) > 40  # of 720 orders, 50 draws repeat few
